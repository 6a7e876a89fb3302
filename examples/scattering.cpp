// SPDX-License-Identifier: BSD-3-Clause
// A complex dense system: a sound wave meets a sphere that lets no pressure stand on its surface. Boundary elements
// make a matrix of exp(ikr)/r, and the solution's far field is compared with Mie's series.
#include <complex>
#include <cstdio>
#include <stretto/bem/scattering.hpp>
#include <stretto/stretto.hpp>
#include <vector>

using Complex = std::complex<double>;
using stretto::Index;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        const double radius = 1, wave_number = 3;
        const auto mesh = stretto::icosphere(8);  // 1280 triangles
        const stretto::Scattering wave(mesh, wave_number, stretto::Layer::combined);

        stretto::DenseMatrix matrix;  // the same on every rank
        matrix.geometry = mesh.geometry();
        matrix.fill = wave.matrix();  // or stretto::entries([](Index i, Index j) { return Complex(…); })
        stretto::DenseSystem system(comm, matrix, {.precond = "auto", .rtol = 1e-5});

        const std::vector<Complex> b = wave.right_hand_side();  // whole on every rank, in the order of the triangles
        std::vector<Complex> density(b.size());
        stretto::SolveOptions options;
        options.method = "gmres";
        options.rtol = 1e-5;
        const auto result = system.solve({b.data(), mesh.size(), 1}, {density.data(), mesh.size(), 1}, options);
        const auto far = stretto::far_field(comm, wave, density, radius);
        if (comm.rank() == 0)
            std::printf("%s after %d iterations; cross-section %.3f, far field within %.1f %% of Mie's series\n",
                        stretto::name(result.status).data(), result.iterations, far.cross_section,
                        100 * far.sphere_error);
        exit_code = result.converged() && far.sphere_error < 0.02 ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
