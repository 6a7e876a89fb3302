// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <map>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <unordered_map>

#include "simulated_comm.hpp"

/// What the ranks share, for they are actors in one process that run in turn: it is the network that no MPI message
/// stands for.
struct SimulatedComm::World {
    /// A sum that is computed, not sent.
    struct Computed {
        std::vector<double> values;  // rank by rank
        std::vector<double> times;   // of the starts, then of the ends
        std::vector<simgrid::s4u::Actor*> waiting;
        int started = 0, finished = 0;
        bool ready = false;
    };
    /// What one actor of a sum leaves for another.
    struct Letter {
        std::vector<double> values;
        simgrid::s4u::SemaphorePtr here = simgrid::s4u::Semaphore::create(0);
    };
    struct Parcel {
        double arrival;
        std::vector<std::byte> data;
    };
    struct Inbox {
        std::unordered_map<int, std::deque<Parcel>> from;
        simgrid::s4u::Actor* waiting = nullptr;
        int awaited = 0;  // from whom
    };

    std::unordered_map<long, SimulatedComm*> ranks;  // by actor
    Network network;
    std::map<std::int64_t, Computed> computed;
    std::map<std::tuple<std::int64_t, int, int>, std::shared_ptr<Letter>> letters;  // by sum, level and receiver
    std::vector<Inbox> inboxes;
    std::vector<std::int64_t> counts;
    std::vector<double> largest;
    struct {
        int arrived = 0;
        std::vector<simgrid::s4u::Actor*> waiting;
    } meeting;

    static World& the() {
        static World world;
        return world;
    }

    Letter& letter(std::int64_t number, int level, int rank) {
        auto& found = letters[{number, level, rank}];
        if (!found) found = std::make_shared<Letter>();
        return *found;
    }
};
