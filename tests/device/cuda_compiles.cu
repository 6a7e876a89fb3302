// SPDX-License-Identifier: BSD-3-Clause
// What methods launch on a GPU, for nvcc to compile: statements, products, preconditioners. It does not run.
#include "device/hmatrix/operator.hpp"
#include "device/one_kernel.hpp"
#include "device/precond.hpp"
#include "stretto/execute/device/cuda.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/methods/bicgstab.hpp"
#include "stretto/methods/cg.hpp"
#include "stretto/methods/pipelined_cg.hpp"
#include "stretto/methods/predict_and_recompute_cg.hpp"
#include "stretto/methods/reordered_bicgstab.hpp"
#include "stretto/methods/single_reduction_cg.hpp"

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

/// The loop of a method as one kernel.
#define LOOP(method)                                                                                           \
    struct method##_text {                                                                                     \
        template <class T>                                                                                     \
        static constexpr void run(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, \
                                  MultiVector<T> x, Verdict<T>& stop) {                                        \
            method(V, A, M, b, x, stop);                                                                       \
        }                                                                                                      \
    };                                                                                                         \
    template void CudaDevice::launch_together(const LoopKernel<method##_text, CudaDevice>&, int)
LOOP(cg);
LOOP(single_reduction_cg);
LOOP(pipelined_cg);
LOOP(predict_and_recompute_cg);
LOOP(bicgstab);
LOOP(reordered_bicgstab);

}  // namespace stretto
