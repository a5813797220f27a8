! SPDX-License-Identifier: BSD-3-Clause
! Global Arrays from Fortran: operations named by strings without an end, columns first, counters, groups.
program ga_fortran
    implicit none
#include "mafdecls.fh"
#include "global.fh"
#include "mpif.h"
    integer, parameter :: side = 60
    integer(kind=8) :: me, n, g, counter, i, j, lo(2), hi(2), ld(1), dims(2), chunk(2), one, got, wrong, total(1)
    integer :: ierr
    double precision :: a(side, side), x(3), start
    integer(kind=8) :: y(2)
    logical(kind=8) :: ok

    call mpi_init(ierr)
    call ga_initialize()
    ok = ma_init(MT_DBL, 100000_8, 100000_8)
    me = ga_nodeid()
    n = ga_nnodes()
    wrong = 0
    dims = side
    chunk = -1
    ok = nga_create(MT_DBL, 2_8, dims, 'matrix', chunk, g)
    if (.not. ok) call ga_error('create', 1_8)
    call nga_distribution(g, me, lo, hi)
    ld(1) = side
    do j = 1, side
        do i = 1, side
            a(i, j) = i + 1000 * j
        end do
    end do
    if (lo(1) > 0 .and. lo(1) <= hi(1)) call nga_put(g, lo, hi, a(lo(1), lo(2)), ld)
    call ga_sync()
    a = 0
    lo = (/ 3, 5 /)
    hi = (/ 40, 57 /)
    call nga_get(g, lo, hi, a(3, 5), ld)
    do j = 5, 57
        do i = 3, 40
            if (a(i, j) /= i + 1000 * j) wrong = wrong + 1
        end do
    end do
    call ga_sync()
    call nga_acc(g, lo, hi, a(3, 5), ld, 1d0)
    call ga_sync()
    call nga_get(g, lo, hi, a(3, 5), ld)
    if (a(40, 57) /= (n + 1) * (40d0 + 57000)) wrong = wrong + 1
    ok = nga_create(MT_INT, 1_8, (/ 1_8 /), 'counter', (/ 1_8 /), counter)
    call ga_zero(counter)
    one = 1
    do i = 1, 50
        got = nga_read_inc(counter, (/ 1_8 /), one)
    end do
    call ga_sync()
    if (nga_read_inc(counter, (/ 1_8 /), 0_8) /= 50 * n) wrong = wrong + 1
    call ga_sync()
    x = (/ dble(me), -dble(me) - 1, 2d0 /)
    call ga_dgop(1_8, x, 3_8, '+')
    if (x(1) /= n * (n - 1) / 2 .or. x(3) /= 2 * n) wrong = wrong + 1
    x = (/ dble(me), -dble(me) - 1, 2d0 /)
    call ga_dgop(2_8, x, 3_8, 'absmax')
    if (x(1) /= n - 1 .or. x(2) /= n) wrong = wrong + 1
    y = (/ me, -me /)
    call ga_igop(3_8, y, 2_8, 'max')
    if (y(1) /= n - 1 .or. y(2) /= 0) wrong = wrong + 1
    y = (/ me, -me /)
    call ga_igop(4_8, y, 2_8, 'min')
    if (y(1) /= 0 .or. y(2) /= 1 - n) wrong = wrong + 1
    y(1) = 0
    if (me == n - 1) y(1) = 17
    call ga_brdcst(5_8, y, 8_8, n - 1)
    if (y(1) /= 17) wrong = wrong + 1
    start = mpi_wtime()
    ok = ga_destroy(counter)
    ok = ga_destroy(g)
    total = wrong
    call ga_igop(6_8, total, 1_8, '+')
    call ga_terminate()
    call mpi_finalize(ierr)
    if (total(1) == 0) then
        print '(a,i0,a,i0)', 'PASS ', me, ' of ', n
    else
        print '(a,i0,a,i0)', 'FAIL process ', me, ': wrong ', wrong
        stop 1
    end if
end program
