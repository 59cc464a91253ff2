// Fusion: several ranked lists of one query become one, joined by document id. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace paretocut {

// The lists of one retriever. Query q has the results begin[q] .. end[q], best first; an id is
// `width` code points, padded with zeros. A result adds weight * (gain - shift[q]) / unit[q] to
// the score of its document; where the retriever did not return it, weight * missing[q] is added.
struct FuseSource {
    const std::uint32_t* ids;
    std::size_t width;
    const double* gains;
    const double* scores;  // as the retriever gave them, only passed on
    const std::int64_t* begin;
    const std::int64_t* end;
    const double* shift;
    const double* unit;  // infinity where nothing is to be added
    const double* missing;
    double weight;
};

// Room for the outcome: `capacity` results, which is as many as all sources have together.
struct Fused {
    std::size_t width;  // of an id: the largest of the sources
    std::int64_t capacity;
    std::int64_t* offsets;     // queries + 1
    double* scores;            // falling within a query; ties by id, descending
    std::uint32_t* ids;        // capacity x width
    double* part_scores;       // sources x capacity; NaN where the source lacks the document
    std::int32_t* part_ranks;  // sources x capacity, from 1; 0 where it lacks the document
};

// Fuses each query. With `times_count` the sum is multiplied by the number of sources that returned
// the document. A document that a source returns twice counts at its better rank. Returns false
// when there is no memory.
bool fuse(std::span<const FuseSource> sources, std::int64_t queries, bool times_count,
          const Fused& out) noexcept;

// Mean and standard deviation of values[begin[i] .. end[i]) for each i; 0 where there are none.
void moments(const double* values, const std::int64_t* begin, const std::int64_t* end,
             std::int64_t lists, double* mean, double* sd) noexcept;

}  // namespace paretocut
