// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace stretto {

/// Work vectors by width, the number of columns of what is worked on: made in the first use with a width, never again,
/// and never moved. For the buffers of an operator, whose apply() is const; one apply at a time.
template <class T>
class Scratch {
public:
    /// The vectors for this width; make() gives them where there are none yet, and may throw.
    template <class Make>
    T& at(int width, Make&& make) const {
        const auto found = std::ranges::find(made_, width, &Made::first);
        if (found != made_.end()) return *found->second;
        std::unique_ptr<T> fresh(new T(make()));
        return *made_.emplace_back(width, std::move(fresh)).second;
    }

private:
    using Made = std::pair<int, std::unique_ptr<T>>;
    mutable std::vector<Made> made_;
};

}  // namespace stretto
