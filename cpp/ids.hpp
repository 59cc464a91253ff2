// A hash table of document ids, for joins of results by id. Plain C++, no Python headers.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

namespace paretocut {

// Another for every process, so that nobody can prepare ids that all land in one place.
inline std::uint64_t secret(std::uint64_t which) {
    static const std::array<std::uint64_t, 2> secrets = [] {
        std::array<std::uint64_t, 2> drawn;
        try {
            std::random_device random;
            for (std::uint64_t& number : drawn) {
                number = (static_cast<std::uint64_t>(random()) << 32) ^ random();
            }
        } catch (...) {  // a machine without randomness: the time is better than nothing
            const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
            drawn = {static_cast<std::uint64_t>(now), ~static_cast<std::uint64_t>(now) << 17};
        }
        return drawn;
    }();
    return secrets[which];
}

// The two halves of the product of two words, folded into one.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ using Wide = unsigned __int128;  // one instruction, where there is such a type
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    const std::uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const std::uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32);
    const std::uint64_t cross = a0 * b1 + (mid & 0xFFFFFFFFu);
    return ((cross << 32) | (low & 0xFFFFFFFFu)) ^ (a1 * b1 + (mid >> 32) + (cross >> 32));
#endif
}

inline std::uint64_t hash_id(std::string_view id) {
    const std::uint64_t first = secret(0), second = secret(1);
    std::uint64_t hash = id.size() ^ second;
    const auto mix = [&hash, first](std::uint64_t word) {
        hash = fold(word ^ first, hash ^ 0x9E3779B97F4A7C15u);
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
    return fold(hash ^ first, second ^ 0xD6E8FEB86659FD93u);
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
