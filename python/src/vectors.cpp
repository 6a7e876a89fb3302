// SPDX-License-Identifier: BSD-3-Clause
// Vectors in the memory of a device, for libraries of arrays.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "solve.hpp"
#include "stretto/core/error.hpp"
#include "stretto/device/devices.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

const Accelerator& device_named(const std::string& name) {
    if (const auto* const found = find_device(name)) return *found;
    throw InputError("device='" + name + "' has no memory of its own: device='cuda' or device='emulated'");
}

/// What DLPack calls it: CUDA's memory, or that of a device that is none of its.
int dlpack_type(const Accelerator& device) { return device.name() == "cuda" ? nb::device::cuda::value : 12; }

/// Doubles, one row after the other.
struct Vectors {
    Vectors(const std::string& name, std::vector<std::size_t> of)
        : device(&device_named(name)),
          shape(std::move(of)),
          size(std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>())),
          memory(device->memory(size)) {}

    /// DLPack's capsule.
    nb::object dlpack() const {
        auto* const kept = new std::shared_ptr<void>(memory);
        const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::shared_ptr<void>*>(data); });
        const nb::ndarray<double> array(memory.get(), shape.size(), shape.data(), owner, nullptr, nb::dtype<double>(),
                                        dlpack_type(*device), device->number());
        return nb::cast(array, nb::rv_policy::reference);
    }

    const Accelerator* device;
    std::vector<std::size_t> shape;
    std::size_t size;
    std::shared_ptr<void> memory;
};

/// What an array is by DLPack: address, shape, distances of elements, kind and bits of numbers, kind of device.
nb::tuple look_by_dlpack(const nb::ndarray<nb::ro>& array) {
    nb::list shape, strides;
    for (std::size_t d = 0; d < array.ndim(); ++d) {
        shape.append(array.shape(d));
        strides.append(array.stride(d));
    }
    return nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data()), nb::tuple(shape), nb::tuple(strides),
                          static_cast<int>(array.dtype().code), static_cast<int>(array.dtype().bits),
                          array.device_type());
}

}  // namespace

void bind_vectors(nb::module_& m) {
    nb::class_<Vectors>(m, "Vectors")
        .def(nb::init<const std::string&, std::vector<std::size_t>>())
        .def_prop_ro("address", [](const Vectors& self) { return reinterpret_cast<std::uintptr_t>(self.memory.get()); })
        .def_ro("shape", &Vectors::shape)
        .def("send", [](Vectors& self,
                        const ConstColumns& from) { self.device->send(from.data(), self.memory.get(), from.size()); })
        .def("copy",
             [](Vectors& self, std::uintptr_t from) {
                 self.device->copy(reinterpret_cast<const void*>(from), self.memory.get(), self.size);
             })
        .def_prop_ro("dlpack_device",
                     [](const Vectors& self) { return std::tuple(dlpack_type(*self.device), self.device->number()); })
        .def("dlpack", &Vectors::dlpack);
    m.def("bring", [](const std::string& device, std::uintptr_t from, const Columns& to) {
        device_named(device).bring(reinterpret_cast<const void*>(from), to.data(), to.size());
    });
    m.def("look_by_dlpack", look_by_dlpack, nb::arg("array").noconvert());
}

}  // namespace stretto::python
