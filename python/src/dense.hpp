// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Dense systems as hierarchical matrices: what kernels and boundary elements share.

#include <memory>
#include <optional>
#include <vector>

#include "solve.hpp"
#include "stretto/system/dense_system.hpp"

namespace stretto::python {

using Points = nanobind::ndarray<const double, nanobind::shape<-1, 3>, nanobind::c_contig, nanobind::device::cpu>;

inline std::vector<Point> points_of(const Points& given) {
    std::vector<Point> points(given.shape(0));
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = {given(i, 0), given(i, 1), given(i, 2)};
    return points;
}

/// A matrix with its system. What it is made of stays in its place.
class Dense {
public:
    Dense(std::shared_ptr<Communicator> communicator, std::shared_ptr<Guest> guest,
          std::unique_ptr<const DenseMatrix> matrix, DenseOptions options)
        : communicator_(std::move(communicator)), guest_(std::move(guest)), matrix_(std::move(matrix)) {
        options.interrupt = &guest_->interrupt();
        options.progress = [this](double fraction) { guest_->told(fraction); };
        try {
            const nanobind::gil_scoped_release unlocked;
            system_.emplace(communicator_->comm(), *matrix_, std::move(options));
        } catch (const std::exception&) {
            guest_->leave();  // what Python threw comes before what came of it
            if (!guest_->interrupt()) throw;
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            throw nanobind::python_error();
        }
        guest_->leave();
    }

    const DenseSystem& system() const { return *system_; }

    std::unique_ptr<Outcome> solve(const ConstColumns& b, const Columns& x, const nanobind::dict& given,
                                   nanobind::object callback) {
        Guest guest(std::move(callback));
        const SolveOptions options = guest.invited(solve_options(given));
        std::unique_ptr<Outcome> outcome;
        {
            const nanobind::gil_scoped_release unlocked;
            auto result = system_->solve(view(b), view(x), options);
            auto info = system_->info(options);
            outcome = std::make_unique<Outcome>(
                communicator_, info.method, [info] { return info; }, std::move(result), guest.timeline());
        }
        guest.leave();
        guest_->leave();
        return outcome;
    }

    void multiply(const ConstColumns& x, const Columns& y, bool transposed) const {
        const nanobind::gil_scoped_release unlocked;
        system_->apply(view(x), view(y), transposed);
    }

    nanobind::dict statistics() const {
        const auto& of = system_->matrix().statistics();
        nanobind::dict all;
        all["dense_blocks"] = of.dense_blocks;
        all["low_rank_blocks"] = of.low_rank_blocks;
        all["refilled"] = of.refilled;
        all["values"] = of.values;
        all["mean_rank"] =
            of.low_rank_blocks > 0 ? static_cast<double>(of.ranks) / static_cast<double>(of.low_rank_blocks) : 0.0;
        all["max_rank"] = of.max_rank;
        all["bytes"] = of.bytes;
        all["single"] = of.single;
        all["in_16_bits"] = of.in_16_bits;
        all["in_8_bits"] = of.in_8_bits;
        all["seconds"] = of.seconds;
        return all;
    }

    /// (row, rows, column, columns, rank) of this process' blocks.
    nanobind::list blocks() const {
        nanobind::list list;
        for (const auto& block : system_->matrix().blocks()) {
            list.append(nanobind::make_tuple(block.row, block.rows, block.col, block.cols, block.rank));
            if (block.mirrored)
                list.append(nanobind::make_tuple(block.col, block.cols, block.row, block.rows, block.rank));
        }
        return list;
    }

private:
    std::shared_ptr<Communicator> communicator_;
    std::shared_ptr<Guest> guest_;  // of the kernel; it outlives the matrix, whose entries solves ask for again
    std::unique_ptr<const DenseMatrix> matrix_;
    std::optional<DenseSystem> system_;
};

/// What Python gives by name.
DenseOptions dense_options(const nanobind::dict& given);

}  // namespace stretto::python
