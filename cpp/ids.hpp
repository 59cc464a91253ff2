// A hash table of document ids, for joins of results by id. Plain C++, no Python headers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace paretocut {

inline std::uint64_t hash_id(std::string_view id) {
    std::uint64_t hash = id.size();
    const auto mix = [&hash](std::uint64_t word) {
        hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15u, 29);
    };
    const char* p = id.data();
    std::size_t left = id.size();
    for (std::uint64_t word; left >= 8; p += 8, left -= 8) {
        std::memcpy(&word, p, 8);  // of a known size, so that it is one load
        mix(word);
    }
    if (left > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, p, left);
        mix(word);
    }
    return (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
}

// Finds ids among those inserted: open addressing, half empty, one word per slot. A slot holds the
// upper half of the hash and an item number plus one, so most probes never touch the id itself.
class IdTable {
  public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    void reset(std::size_t items) {
        const std::size_t size = std::bit_ceil(2 * items + 1);
        slots_.assign(size, 0);
        mask_ = size - 1;
    }

    // Returns the item with this id, or `none`; in that case `item` is inserted unless it is
    // `none`.
    template <typename IdOf>
    std::uint32_t find_or_insert(std::string_view id, std::uint32_t item, IdOf id_of) {
        const std::uint64_t hash = hash_id(id);
        const std::uint64_t tag = hash & 0xFFFFFFFF00000000u;
        std::size_t at = hash & mask_;
        for (; slots_[at] != 0; at = (at + 1) & mask_) {
            if ((slots_[at] & 0xFFFFFFFF00000000u) != tag) continue;
            const auto found = static_cast<std::uint32_t>(slots_[at]) - 1;
            if (id_of(found) == id) return found;
        }
        if (item != none) slots_[at] = tag | (item + 1);
        return none;
    }

  private:
    std::vector<std::uint64_t> slots_;
    std::size_t mask_ = 0;
};

}  // namespace paretocut
