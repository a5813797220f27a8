# SPDX-License-Identifier: BSD-3-Clause
"""Parallel HDF5 (h5py on MPI-IO): each task writes its rows of one dataset, and all read what the others wrote."""
import os
import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, tasks, columns = comm.rank, comm.size, 1000
path = "rows.h5"
with h5py.File(path, "w", driver="mpio", comm=comm) as f:
    rows = f.create_dataset("rows", (tasks, columns), "f8")
    with rows.collective:
        rows[rank, :] = np.arange(columns) + rank * columns
with h5py.File(path, "r", driver="mpio", comm=comm) as f:
    right = (f["rows"][(rank + 1) % tasks, :] == np.arange(columns) + (rank + 1) % tasks * columns).all()
    total = comm.allreduce(f["rows"][rank, :].sum())
comm.Barrier()
if rank == 0:
    os.unlink(path)
if not comm.allreduce(int(right), MPI.MIN):
    sys.exit("a task read other rows than were written")
if rank == 0:
    print("hdf5 sum %d on %d tasks" % (total, tasks))
