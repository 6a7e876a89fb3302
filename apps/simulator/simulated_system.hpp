// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "simulated_comm.hpp"
#include "stretto/operators/any_operator.hpp"

/// The system of a job, a JSON file that `stretto simulate` writes, and the machine that it is solved on: its
/// communicator, A and M as this process sees them.
class SimulatedSystem {
public:
    SimulatedSystem() = default;
    SimulatedSystem(const SimulatedSystem&) = delete;
    SimulatedSystem& operator=(const SimulatedSystem&) = delete;
    virtual ~SimulatedSystem() = default;

    virtual stretto::Comm& comm() = 0;
    virtual const stretto::AnyOperator<double>& A() const = 0;
    virtual const stretto::AnyOperator<double>& M() const = 0;
    /// Collective. This process' rows of what --rhs means. Throws InputError.
    virtual std::vector<double> right_hand_sides(const std::string& text, int columns) = 0;
    virtual stretto::Index rows() const = 0;  ///< of this process' vectors
    virtual bool dry() const { return false; }
    virtual int products() const { return 0; }  ///< with A so far, of a dry run

    virtual int ranks() const = 0;
    virtual stretto::Global all_rows() const = 0;
    /// Of the ranks that this process stands for, the most.
    virtual stretto::Index rows_of_a_rank() const = 0;
    virtual int neighbours() const = 0;

    /// Collective. A new solve with so many vectors of `columns` columns, which all ranks begin together.
    virtual void begin(int vectors, int columns) = 0;
    /// Virtual seconds of the slowest rank that this process stands for.
    virtual double now() = 0;
    /// Collective, in no virtual time. The largest of all processes, value by value.
    virtual void largest_of(std::span<double> values) = 0;
};

/// Collective. The system of a job. Throws InputError for what cannot be simulated like this.
std::unique_ptr<SimulatedSystem> make_system(const nlohmann::json& job);

Costs costs_of(const nlohmann::json& job);
SimulationOptions options_of(const nlohmann::json& job);
