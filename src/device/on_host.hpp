// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <vector>

#include "stretto/execute/device/on_device.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// work(from, to) on copies of vectors that the host can look at; `to` goes back. For what is done once or seldom.
template <class X, class D, class Work>
void on_host(std::initializer_list<MultiVector<OnDevice<X, D>>> from, MultiVector<OnDevice<X, D>> to, Work work) {
    std::vector<std::vector<X>> values;
    std::vector<MultiVector<X>> views;
    for (const auto& v : from) {
        auto& here = values.emplace_back(v.size());
        D::download(v.data(), here.data(), v.size() * sizeof(X));
        views.emplace_back(here.data(), v.rows(), v.columns());
    }
    std::vector<X> result(to.size());
    work(views, MultiVector<X>(result.data(), to.rows(), to.columns()));
    D::upload(to.data(), result.data(), result.size() * sizeof(X));
}

}  // namespace stretto
