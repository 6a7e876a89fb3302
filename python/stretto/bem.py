# SPDX-License-Identifier: BSD-3-Clause
"""Boundary elements: the charges of conductors, and waves that bodies scatter (docs/hmatrix.md). Charges are in units of 4πε₀,
potentials and lengths in any.

>>> from stretto import bem
>>> r = bem.solve(bem.problem("sphere:n=1000"))
>>> r.converged, round(r.capacitance, 1)           # a unit sphere has the capacitance 1
(True, 1.0)
>>> r = bem.scatter("sphere:n=1000", 2.0)
>>> r.converged, round(r.cross_section, 1), r.sphere_error < 0.02      # ∫ |u∞|², and how far u∞ is from Mie's series
(True, 9.3, True)
"""

from __future__ import annotations

import os

import numpy as np

from . import _arrays, _core
from ._hmatrix import HMatrix
from ._progress import told
from ._result import Result, html_table

__all__ = ["Charges", "Conductors", "Scattered", "conductors", "problem", "scatter", "solve"]


class Conductors:
    """Closed surfaces of triangles, each a conductor with its potential.

    Attributes
    ----------
    vertices : array, (v, 3)
    triangles : array, (n, 3)
        Numbers of vertices, counter-clockwise from outside.
    surface : array, (n,)
        The closed surface that each triangle belongs to.
    potential : array
        Of each surface.
    field : float
        A uniform field along z.
    remarks : list of str
        What was changed in the mesh: vertices welded, surfaces turned.
    truth : (str, float) or None
        A quantity that is known: ``capacitance``, ``charge`` or ``dipole``.
    """

    def __init__(self, problem):
        self._problem = problem
        self.vertices, self.triangles = problem.vertices, problem.triangles
        self.surface, self.potential = np.asarray(problem.surface), np.asarray(problem.potential)
        self.field, self.remarks, self.truth = problem.field, problem.remarks, problem.truth

    def matrix(self, testing="collocation", *, progress=False, comm=None, precond="auto", rtol=1e-6, **options) -> HMatrix:
        """The single layer potential as an `HMatrix`: entry (i, j) is what a unit density on triangle j makes on triangle i.
        `testing`: at its centroid (``collocation``) or integrated (``galerkin``, which is symmetric positive definite). Options as of
        `HMatrix`."""
        return _SingleLayer(self, _testing(testing), progress, comm, precond, rtol, options)

    def wanted(self, testing="collocation") -> np.ndarray:
        """The right-hand side: the potential that the charges are to make on each triangle."""
        return np.asarray(self._problem.wanted(_testing(testing)))

    def charges(self, density) -> dict:
        """What a density amounts to: by_surface, total, dipole (along z), capacitance (of one conductor, or of equal pairs at ±V),
        truth_error (relative, where something is known)."""
        return self._problem.amounts(_arrays.columns(density, "density", len(self.triangles)))

    def __repr__(self):
        return f"<stretto.bem.Conductors: {len(self.potential)} with {len(self.triangles)} triangles>"


def _testing(testing):
    if testing not in ("collocation", "galerkin"):
        raise ValueError(f"testing={testing!r}: 'collocation' or 'galerkin'")
    return testing == "galerkin"


class _SingleLayer(HMatrix):
    def __init__(self, conductors, galerkin, progress, comm, precond, rtol, options):
        self._communicator = _arrays.communicator(comm)
        own = {name: options.pop(name) for name in ("threads", "columns", "device") if name in options}
        given = {"precond": precond, "rtol": rtol, "threads": 0, **own, "hmatrix": ",".join(f"{name}={value}" for name, value in options.items())}
        with told(progress, self._communicator, "compressing") as progressed:
            self._dense = _core.dense_of_bem(self._communicator, conductors._problem, galerkin, progressed, given)
        self._symmetric = galerkin
        self._finish(rtol)


class Charges(Result):
    """A `Result` whose x is the charge density of each triangle; with `charges`, `capacitance`, `conductors` and `write`."""

    @property
    def charges(self) -> dict:
        """As of `Conductors.charges`."""
        return self.conductors.charges(self.x)

    @property
    def capacitance(self):
        """Of one conductor, or of equal pairs at ±V; None where it is not defined."""
        return self.charges["capacitance"]

    def write(self, path):
        """Writes the triangles with their densities: a .vtu file, which ParaView reads, or a picture, .svg."""
        make = {".vtu": self.conductors._problem.vtu, ".svg": self.conductors._problem.svg}.get(os.path.splitext(path)[1])
        if not make:
            raise ValueError(f"{path}: the name must end in .vtu or .svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(make(np.reshape(self.x, (-1, 1))))

    def _repr_html_(self):
        rows = [(name, value) for name, value in self.charges.items() if value is not None and name != "by_surface"]
        return super()._repr_html_() + html_table(rows) + self.conductors._problem.svg(np.reshape(self.x, (-1, 1)))


def problem(name, comm=None) -> Conductors:
    """A problem of ``stretto list``: sphere:n=…, two_spheres, spheres, sphere_in_field, cube, humanoid, 100ts, …, or mesh:FILE."""
    return Conductors(_core.bem_problem(_arrays.communicator(comm), name))


def conductors(mesh, triangles=None, *, potential=1.0, field=0.0, comm=None) -> Conductors:
    """Conductors of a mesh of closed surfaces.

    Parameters
    ----------
    mesh : path, meshio.Mesh or array, (v, 3)
        An .stl, .off or .obj file; what ``meshio.read`` returns, of which triangles are taken; or vertices.
    triangles : array of int, (n, 3), optional
        With vertices: their numbers, from 0.
    potential : float or sequence of float
        Of all surfaces, or of each, in the order of their first triangles.
    field : float
        A uniform field along z besides.

    Raises
    ------
    InputError
        Names the place where surfaces are not closed or run along each other; degenerate triangles.
    """
    if isinstance(mesh, (str, os.PathLike)):
        found = _core.bem_problem(_arrays.communicator(comm), f"mesh:{os.fspath(mesh)}")
        vertices, triangles = found.vertices, found.triangles
    elif hasattr(mesh, "cells_dict"):
        if "triangle" not in mesh.cells_dict:
            raise ValueError(f"the mesh has no triangles: it has {', '.join(mesh.cells_dict) or 'no cells'}")
        vertices, triangles = mesh.points, mesh.cells_dict["triangle"]
    else:
        vertices = mesh
    if triangles is None:
        raise TypeError("triangles is missing: vertices (v, 3) and triangles (n, 3), a file, or what meshio.read returns")
    vertices, triangles = _arrays.real(vertices, "vertices"), np.asarray(triangles)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ValueError(f"vertices has the shape {vertices.shape} and triangles {triangles.shape}: (v, 3) and (n, 3) are wanted")
    if triangles.dtype.kind not in "iu":
        raise TypeError(f"triangles has numbers of type {triangles.dtype}: numbers of vertices are wanted")
    return Conductors(_core.bem_conductors(vertices, np.ascontiguousarray(triangles, np.int32),
                                           [float(v) for v in np.atleast_1d(potential)], float(field)))


def solve(problem, *, testing="collocation", method="auto", precond="auto", rtol=1e-6, progress=False, comm=None, maxiter=None, **options) -> Charges:
    """The charge density of each triangle: a `Charges`. `problem`: `Conductors`, or a name as of `problem`; `**options` as of
    `HMatrix`."""
    if not isinstance(problem, Conductors):
        problem = globals()["problem"](problem, comm)
    A = problem.matrix(testing, progress=progress, comm=comm, precond=precond, rtol=rtol, **options)
    r = A.solve(problem.wanted(testing), method=method, maxiter=maxiter, progress=progress)
    r.__class__, r.conductors = Charges, problem
    return r


class _Wave(HMatrix):
    _complex = True

    def __init__(self, wave, progress, comm, precond, rtol, options):
        self._communicator = _arrays.communicator(comm)
        own = {name: options.pop(name) for name in ("threads", "columns") if name in options}
        given = {"precond": precond, "rtol": rtol, "threads": 0, **own, "hmatrix": ",".join(f"{name}={value}" for name, value in options.items())}
        with told(progress, self._communicator, "compressing") as progressed:
            self._dense = _core.dense_of_wave(self._communicator, wave, progressed, given)
        self._symmetric = False
        self._finish(rtol)


class Scattered(Result):
    """A `Result` whose x is the density that makes the scattered wave, one complex number a triangle.

    Attributes
    ----------
    cross_section : float
        ∫ `|u∞|²` over all directions, where the scattered wave is exp(ikr)/r u∞ far away.
    extinction : float
        (4π/k) Im u∞ forwards: the same for the wave itself, which loses no energy.
    forward, backward : complex
        u∞ in the direction of the wave, and against it.
    sphere_error : float or None
        How far u∞ is from Mie's series, of one sphere.
    """

    def far_field(self, directions) -> np.ndarray:
        """u∞ in directions of length 1, (n, 3)."""
        return np.asarray(self._wave.far_field(self.x, _arrays.real(directions, "directions").reshape(-1, 3)))

    def field(self, points) -> np.ndarray:
        """The whole wave at points outside of the body, (n, 3)."""
        return np.asarray(self._wave.field(self.x, _arrays.real(points, "points").reshape(-1, 3)))

    def write(self, path):
        """Writes the triangles with their densities: a .vtu file, which ParaView reads; or a picture of the wave, .svg. On several
        processes all take part, and the first one writes."""
        make = {".vtu": lambda: self._wave.vtu(self.x), ".svg": lambda: self._wave.svg(self._communicator, self.x)}.get(os.path.splitext(path)[1])
        if not make:
            raise ValueError(f"{path}: the name must end in .vtu or .svg")
        text = make()
        if self._communicator.rank == 0:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def scatter(problem, wave_number, *, layer="combined", direction=(0, 0, 1), method="auto", precond="auto", rtol=1e-6, progress=False, comm=None,
            maxiter=None, **options) -> Scattered:
    """What sound-soft bodies scatter of a plane wave exp(ik d·x): a `Scattered`.

    Parameters
    ----------
    problem : Conductors or str
        The surfaces, as of `problem`; potentials have no meaning here.
    wave_number : float
        Of any unit of length that is one over the mesh's.
    layer : str
        ``combined``: charges and dipoles; ``single``: charges, not where the inside of a body resonates.
    direction : sequence of float
        d, of any length.
    **options
        As of `HMatrix`.
    """
    if layer not in ("combined", "single"):
        raise ValueError(f"layer={layer!r}: 'combined' or 'single'")
    if not isinstance(problem, Conductors):
        problem = globals()["problem"](problem, comm)
    wave = _core.bem_scattering(problem._problem, float(wave_number), layer, [float(d) for d in direction])
    A = _Wave(wave, progress, comm, precond, rtol, options)
    r = A.solve(np.asarray(wave.wanted()), method=method, maxiter=maxiter, progress=progress)
    r.__class__, r._wave, r._communicator, r.conductors = Scattered, wave, A._communicator, problem
    for name, value in wave.far_away(A._communicator, r.x, problem._problem.sphere_radius).items():
        setattr(r, name, value)
    return r
