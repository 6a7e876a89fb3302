// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "layout.hpp"
#include "simulated_comm.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/multivector.hpp"

/// In a dry run, and as a preconditioner of given cost: z = D r for a diagonal D, which moves what it says.
class Stand {
public:
    Stand(SimulatedComm& comm, stretto::Index rows)
        : comm_(comm), rows_(rows), diagonal_(static_cast<std::size_t>(rows), 1.0) {}
    virtual ~Stand() = default;
    std::vector<double>& diagonal() { return diagonal_; }

    void apply(stretto::MultiVector<double> x, stretto::MultiVector<double> y) const;
    void apply_transpose(stretto::MultiVector<double> x, stretto::MultiVector<double> y) const { apply(x, y); }
    virtual double bytes(int columns) const = 0;
    int applied() const { return applied_; }  ///< how often

protected:
    virtual void work(int columns) const = 0;
    SimulatedComm& comm_;

private:
    mutable int applied_ = 0;
    stretto::Index rows_;
    std::vector<double> diagonal_;
};

/// A product that exchanges and moves what one with the matrix would.
class DryMatrix final : public Stand {
public:
    /// `footprint` must outlive the product. `columns`: of the vectors that will be multiplied.
    DryMatrix(SimulatedComm& comm, stretto::Index rows, const Footprint& footprint, int columns);

    using Stand::apply;
    /// As a sparse matrix does.
    void apply(stretto::MultiVector<double> x, stretto::MultiVector<double> y, const stretto::RowWork& work) const {
        Stand::apply(x, y);
        work(0, 0, y.rows());
    }
    int parts() const { return 1; }
    double bytes(int columns) const override;

private:
    void work(int columns) const override;

    const Footprint& footprint_;
    std::vector<stretto::Message> receives_, sends_;
};

/// So many passes that read and write so many bytes, once and for each column.
class DryPreconditioner final : public Stand {
public:
    DryPreconditioner(SimulatedComm& comm, stretto::Index rows, int passes, double once, double a_column)
        : Stand(comm, rows), passes_(passes), once_(once), a_column_(a_column) {}
    double bytes(int columns) const override { return passes_ * (once_ + a_column_ * columns); }

private:
    void work(int columns) const override;

    int passes_;
    double once_, a_column_;
};
