// Warnings about the scores of a list, from the scores alone. Plain C++, no Python headers.
#pragma once

#include <cstdint>

#include "cuts.hpp"

namespace paretocut::warnings {

enum Warning : std::uint8_t {
    kHeavyTies = 1,  // many results share their score
    kRankOnly = 2,   // scores are a function of the rank
    kSaturated = 4,  // probabilities are piled up at 0 or 1
    kRescaled = 8,   // each list has a scale of its own
};

// Finds the warnings of each list; lists fall.
void diagnose(const cuts::Lists& lists, std::uint8_t* warnings);

}  // namespace paretocut::warnings
