// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/convergence/checkpoint.hpp"
#include "stretto/system/prepare.hpp"

namespace stretto {

/// A user's checkpoint, whose rows are where the user has them, for a solver whose rows have moved.
class MovedCheckpoint final : public Checkpoint {
public:
    MovedCheckpoint(Checkpoint& users, const std::unique_ptr<PreparedSystem>& prepared, Index rows)
        : users_(users), prepared_(prepared), rows_(static_cast<std::size_t>(rows)) {
        seconds = users.seconds;
        iterations = users.iterations;
    }

    /// Takes up what the next solve is to go on from. `columns`: numbers in a row.
    void begin(int columns) {
        columns_ = columns;
        from = std::exchange(users_.from, std::nullopt);
        if (!from) return;
        const auto here =
            static_cast<std::size_t>(prepared_->matrix().local_rows()) * static_cast<std::size_t>(columns);
        for (auto& vector : from->vectors) {
            if (vector.size() != rows_ * static_cast<std::size_t>(columns)) continue;  // refused by the solver
            std::vector<double> moved(here);
            prepared_->forward(vector, columns, moved, packed_);
            vector = std::move(moved);
        }
    }
    std::string save(const Snapshot& snapshot) override {
        given_ = snapshot;
        for (auto& vector : given_.vectors) {
            std::vector<double> back(rows_ * static_cast<std::size_t>(columns_));
            prepared_->back(vector, columns_, back, packed_);
            vector = std::move(back);
        }
        return users_.save(given_);
    }

private:
    Checkpoint& users_;
    const std::unique_ptr<PreparedSystem>& prepared_;
    std::size_t rows_;
    int columns_ = 1;
    Snapshot given_;
    RowMoves::Packed packed_;
};

}  // namespace stretto
