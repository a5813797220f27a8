! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program of MPI: a ring, a sum.
program kinds
  use mpi
  implicit none
  integer :: me, tasks, rc, got, total
  integer :: status(MPI_STATUS_SIZE)
  call MPI_Init(rc)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, rc)
  call MPI_Comm_size(MPI_COMM_WORLD, tasks, rc)
  call MPI_Sendrecv(me, 1, MPI_INTEGER, mod(me + 1, tasks), 1, got, 1, MPI_INTEGER, mod(me + tasks - 1, tasks), 1, &
                    MPI_COMM_WORLD, status, rc)
  call MPI_Allreduce(got, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, rc)
  if (got == mod(me + tasks - 1, tasks) .and. total == tasks * (tasks - 1) / 2) print '(a,i0,a,i0)', 'PASS ', me, ' of ', tasks
  call MPI_Finalize(rc)
end program
