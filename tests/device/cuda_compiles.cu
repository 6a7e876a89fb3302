// SPDX-License-Identifier: BSD-3-Clause
// What methods launch on a GPU, for nvcc to compile: statements, products, preconditioners. It does not run.
#include "device/hmatrix/operator.hpp"
#include "device/precond.hpp"
#include "stretto/execute/device/cuda.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/execute/space.hpp"

namespace stretto {

template class DeviceMatrix<double, CudaDevice>;
template class DevicePreconditioner<double, CudaDevice>;
template class DeviceHMatrix<CudaDevice>;

void launches(Space<on_cuda>& V, const SmallMatrix<on_cuda>& S, SmallMatrix<on_cuda>& products) {
    const auto v = V.panel(4);
    V.run(v[0] <<= v[1] + V.scalars(2) * v[2]);
    (void)V.start(v[0] <<= v[1] - v[0], dot(v[0], v[1]), dot(v[2], v[2])).wait();
    V.run(v.part(3, 1) <<= v.part(3, 1) - v.part(0, 3) * S.from(0, 0));
    V.start(dots(v.part(0, 3), v.part(3, 1))).wait(products, 0, 0, 1);
}

}  // namespace stretto
