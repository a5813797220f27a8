; SPDX-License-Identifier: BSD-3-Clause
; Bands of a square lattice of dielectric rods, TM modes.
(set! num-bands 4)
(set! k-points (interpolate 1 (list (vector3 0 0 0) (vector3 0.5 0 0))))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity) (material (make dielectric (epsilon 12))))))
(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! resolution 16)
(run-tm)
