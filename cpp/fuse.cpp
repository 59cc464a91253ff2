#include "fuse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "ids.hpp"

namespace paretocut {
namespace {

struct Id {
    const std::uint32_t* text;
    std::size_t length;

    std::string_view bytes() const {
        return {reinterpret_cast<const char*>(text), length * sizeof(std::uint32_t)};
    }
    // Code points in order are the order of their UTF-8, which is trec_eval's.
    bool operator>(const Id& other) const {
        return std::lexicographical_compare(other.text, other.text + other.length, text,
                                            text + length);
    }
};

Id id_at(const FuseSource& source, std::int64_t i) {
    const std::uint32_t* text = source.ids + static_cast<std::size_t>(i) * source.width;
    std::size_t length = source.width;
    while (length > 0 && text[length - 1] == 0) --length;
    return {text, length};
}

struct Scored {
    double score;
    std::uint32_t item;
    std::uint32_t key;
};

// The upper half of a score's bits, turned so that a higher score has a smaller key.
std::uint32_t key_of(double score) {
    const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);  // no -0.0
    const std::uint64_t falling = bits >> 63 ? bits : ~bits & 0x7FFFFFFFFFFFFFFFu;
    return static_cast<std::uint32_t>(falling >> 32);
}

// Sorts by score, falling; where scores are equal, `before` decides. Three passes of a radix sort
// on the upper half of the bits, which branches on nothing, then a comparison sort of what that
// leaves open.
template <typename Before>
void sort_scored(std::vector<Scored>& items, std::vector<Scored>& spare, Before before) {
    constexpr std::size_t kFew = 128;  // below, clearing the counts costs more than comparing
    constexpr unsigned kBits[] = {11, 11, 10};
    const auto full = [&](const Scored& a, const Scored& b) {
        return a.score != b.score ? a.score > b.score : before(a.item, b.item);
    };
    if (items.size() < kFew) {
        std::sort(items.begin(), items.end(), full);
        return;
    }
    spare.resize(items.size());
    std::uint32_t counts[3][2048] = {};
    for (const Scored& item : items) {
        for (unsigned pass = 0, shift = 0; pass < 3; shift += kBits[pass++]) {
            ++counts[pass][item.key >> shift & ((1u << kBits[pass]) - 1)];
        }
    }
    for (unsigned pass = 0, shift = 0; pass < 3; shift += kBits[pass++]) {
        std::uint32_t total = 0;
        for (std::uint32_t& count : counts[pass]) total += std::exchange(count, total);
        for (const Scored& item : items) {
            spare[counts[pass][item.key >> shift & ((1u << kBits[pass]) - 1)]++] = item;
        }
        items.swap(spare);
    }
    for (std::size_t first = 0, last; first < items.size(); first = last) {
        for (last = first + 1; last < items.size() && items[last].key == items[first].key;) ++last;
        if (last - first > 1) {
            std::sort(items.begin() + static_cast<std::ptrdiff_t>(first),
                      items.begin() + static_cast<std::ptrdiff_t>(last), full);
        }
    }
}

// The documents of one query, gathered from all sources.
class Union {
  public:
    explicit Union(std::span<const FuseSource> sources) : sources_(sources) {}

    void join(std::int64_t q) {
        ids_.clear();
        room_ = 0;
        for (const FuseSource& source : sources_) room_ += count(source, q);
        table_.reset(room_);
        // What is missing is filled in beforehand, so that no loop below branches on it.
        const double nan = std::numeric_limits<double>::quiet_NaN();
        ranks_.assign(sources_.size() * room_, 0);
        scores_.assign(sources_.size() * room_, nan);
        gains_.resize(sources_.size() * room_);
        const auto bytes_of = [this](std::uint32_t item) { return ids_[item].bytes(); };
        for (std::size_t s = 0; s < sources_.size(); ++s) {
            const FuseSource& source = sources_[s];
            const std::size_t row = s * room_;
            std::fill_n(gains_.begin() + static_cast<std::ptrdiff_t>(row), room_,
                        source.weight * source.missing[q]);
            for (std::size_t r = 0; r < count(source, q); ++r) {
                const std::int64_t i = source.begin[q] + static_cast<std::int64_t>(r);
                const Id id = id_at(source, i);
                const auto next = static_cast<std::uint32_t>(ids_.size());
                std::uint32_t item = table_.find_or_insert(id.bytes(), next, bytes_of);
                if (item == IdTable::none) {
                    item = next;
                    ids_.push_back(id);
                }
                if (ranks_[row + item] != 0) continue;  // again, and further down
                ranks_[row + item] = static_cast<std::int32_t>(r + 1);
                scores_[row + item] = source.scores[i];
                gains_[row + item] =
                    source.weight * ((source.gains[i] - source.shift[q]) / source.unit[q]);
            }
        }
    }

    void sort(bool times_count) {
        order_.resize(ids_.size());
        for (std::uint32_t item = 0; item < ids_.size(); ++item) {
            double score = 0.0;
            int found = 0;
            for (std::size_t s = 0; s < sources_.size(); ++s) {
                score += gains_[s * room_ + item];
                found += ranks_[s * room_ + item] != 0;
            }
            if (times_count) score *= found;
            order_[item] = {score, item, key_of(score)};
        }
        sort_scored(order_, spare_,
                    [this](std::uint32_t a, std::uint32_t b) { return ids_[a] > ids_[b]; });
    }

    void write(std::int64_t at, const Fused& out) const {
        for (const Scored& scored : order_) {
            out.scores[at] = scored.score;
            const Id& id = ids_[scored.item];
            std::uint32_t* text = out.ids + static_cast<std::size_t>(at) * out.width;
            std::copy_n(id.text, id.length, text);
            std::fill(text + id.length, text + out.width, 0u);
            for (std::size_t s = 0; s < sources_.size(); ++s) {
                const std::size_t cell =
                    s * static_cast<std::size_t>(out.capacity) + static_cast<std::size_t>(at);
                out.part_ranks[cell] = ranks_[s * room_ + scored.item];
                out.part_scores[cell] = scores_[s * room_ + scored.item];
            }
            ++at;
        }
    }

    std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }

  private:
    static std::size_t count(const FuseSource& source, std::int64_t q) {
        return static_cast<std::size_t>(source.end[q] - source.begin[q]);
    }

    std::span<const FuseSource> sources_;
    IdTable table_;
    std::size_t room_ = 0;
    std::vector<Id> ids_;
    // Of each source, for all documents: sources x room.
    std::vector<std::int32_t> ranks_;
    std::vector<double> scores_, gains_;
    std::vector<Scored> order_, spare_;
};

}  // namespace

bool fuse(std::span<const FuseSource> sources, std::int64_t queries, bool times_count,
          const Fused& out) noexcept try {
    Union found(sources);
    std::int64_t at = 0;
    out.offsets[0] = 0;
    for (std::int64_t q = 0; q < queries; ++q) {
        found.join(q);
        found.sort(times_count);
        found.write(at, out);
        at += found.size();
        out.offsets[q + 1] = at;
    }
    return true;
} catch (...) {
    return false;
}

void moments(const double* values, const std::int64_t* begin, const std::int64_t* end,
             std::int64_t lists, double* mean, double* sd) noexcept {
    for (std::int64_t i = 0; i < lists; ++i) {
        const double* const first = values + begin[i];
        const double* const last = values + end[i];
        const double n = static_cast<double>(std::max<std::int64_t>(end[i] - begin[i], 1));
        double sum = 0.0, squares = 0.0;
        for (const double* x = first; x != last; ++x) sum += *x;
        mean[i] = sum / n;
        for (const double* x = first; x != last; ++x) squares += (*x - mean[i]) * (*x - mean[i]);
        sd[i] = std::sqrt(squares / n);
    }
}

}  // namespace paretocut
