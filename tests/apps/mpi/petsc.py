# SPDX-License-Identifier: BSD-3-Clause
"""PETSc by petsc4py: Poisson's equation on a grid, by conjugate gradients with a block Jacobi preconditioner."""
import petsc4py

petsc4py.init()
from petsc4py import PETSc

grid = PETSc.DMDA().create([48, 48], stencil_width=1)
a = grid.createMatrix()
(x0, x1), (y0, y1) = grid.getRanges()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(y0, y1):
    for x in range(x0, x1):
        row.index = (x, y)
        for dx, dy, value in ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.0), (0, 1, -1.0), (0, -1, -1.0)):
            if 0 <= x + dx < 48 and 0 <= y + dy < 48:
                col.index = (x + dx, y + dy)
                a.setValueStencil(row, col, value)
a.assemble()
b, x = grid.createGlobalVec(), grid.createGlobalVec()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(a)
solver.setType("cg")
solver.setTolerances(rtol=1e-12)
solver.solve(b, x)
PETSc.Sys.Print("petsc maximum %.6f, converged %s" % (x.max()[1], solver.getConvergedReason() > 0))
