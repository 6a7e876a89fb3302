// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace stretto {

/// What methods learn of A and keep from one solve to the next: shifts, Ritz values. One object of each type.
class Kept {
public:
    /// The X that is kept; made of these arguments where there is none.
    template <class X, class... Arguments>
    X& get(Arguments&&... arguments) {
        for (const auto& [type, object] : objects_)
            if (type == &type_of<X>) return *static_cast<X*>(object.get());
        objects_.emplace_back(&type_of<X>, std::make_shared<X>(std::forward<Arguments>(arguments)...));
        return *static_cast<X*>(objects_.back().second.get());
    }
    void forget() { objects_.clear(); }

private:
    /// Its address tells types apart.
    template <class X>
    static constexpr char type_of = 0;

    std::vector<std::pair<const void*, std::shared_ptr<void>>> objects_;
};

}  // namespace stretto
