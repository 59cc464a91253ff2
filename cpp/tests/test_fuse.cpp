// Tests of the fusion in C++ alone: against a map, with every array as long as it must be and no
// longer, so that the sanitizer sees a look beyond its end.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../fuse.hpp"
#include "check.hpp"

namespace {

struct Lists {
    std::size_t width;
    double weight;
    std::vector<std::uint32_t> ids;
    std::vector<double> gains;
    std::vector<std::int64_t> begin, end;
    std::vector<double> shift, unit, missing;

    paretocut::FuseSource source() const {
        return {ids.data(), width,        gains.data(), gains.data(),   begin.data(),
                end.data(), shift.data(), unit.data(),  missing.data(), weight};
    }
    std::u32string id(std::int64_t i) const {
        std::u32string text;
        for (std::size_t c = 0; c < width && ids[static_cast<std::size_t>(i) * width + c] != 0; ++c)
            text += static_cast<char32_t>(ids[static_cast<std::size_t>(i) * width + c]);
        return text;
    }
};

// Few different letters and scores, so that documents meet and scores tie.
Lists random_lists(std::mt19937& random, int queries, std::size_t width, int longest) {
    Lists lists{width, 0.5 + static_cast<double>(random() % 3), {}, {}, {}, {}, {}, {}, {}};
    for (int q = 0; q < queries; ++q) {
        lists.begin.push_back(static_cast<std::int64_t>(lists.gains.size()));
        const auto length = static_cast<int>(random() % static_cast<unsigned>(longest + 1));
        std::vector<double> scores(static_cast<std::size_t>(length));
        for (double& score : scores) score = static_cast<double>(random() % 40) / 8.0 - 2.0;
        std::sort(scores.rbegin(), scores.rend());
        for (const double score : scores) {
            lists.gains.push_back(score);
            const std::size_t letters = 1 + random() % width;
            for (std::size_t c = 0; c < width; ++c)
                lists.ids.push_back(c < letters ? 'a' + random() % 3 : 0);
        }
        lists.end.push_back(static_cast<std::int64_t>(lists.gains.size()));
        lists.shift.push_back(static_cast<double>(random() % 4));
        lists.unit.push_back(random() % 5 == 0 ? INFINITY
                                               : 1.0 + static_cast<double>(random() % 3));
        lists.missing.push_back(-static_cast<double>(random() % 4));
    }
    return lists;
}

struct Outcome {
    std::vector<std::int64_t> offsets;
    std::vector<double> scores;
    std::vector<std::uint32_t> ids;
    std::vector<double> part_scores;
    std::vector<std::int32_t> part_ranks;
};

Outcome fused(const std::vector<Lists>& all, int queries, bool times_count, std::size_t width) {
    std::vector<paretocut::FuseSource> sources;
    std::size_t room = 0;
    for (const Lists& lists : all) {
        sources.push_back(lists.source());
        room += lists.gains.size();
    }
    Outcome out{std::vector<std::int64_t>(static_cast<std::size_t>(queries) + 1),
                std::vector<double>(room), std::vector<std::uint32_t>(room * width),
                std::vector<double>(all.size() * room),
                std::vector<std::int32_t>(all.size() * room)};
    CHECK(paretocut::fuse(
        sources, queries, times_count,
        {width, static_cast<std::int64_t>(room), out.offsets.data(), out.scores.data(),
         out.ids.data(), out.part_scores.data(), out.part_ranks.data()}));
    return out;
}

TEST(fused_lists_are_those_of_a_map) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const int queries = 3;
        const int longest = round % 10 == 0 ? 400 : 12;  // beyond the length that is radix sorted
        std::vector<Lists> all;
        for (std::size_t s = 0; s < 2 + random() % 3; ++s)
            all.push_back(random_lists(random, queries, 2 + s + (longest > 100 ? 4 : 0), longest));
        const std::size_t width = all.back().width;
        const bool times_count = round % 2 == 1;
        const Outcome out = fused(all, queries, times_count, width);
        const std::size_t room = out.scores.size();
        for (int q = 0; q < queries; ++q) {
            const auto at_q = static_cast<std::size_t>(q);
            std::map<std::u32string, std::vector<std::int32_t>> ranks;
            for (std::size_t s = 0; s < all.size(); ++s)
                for (std::int64_t i = all[s].begin[at_q]; i < all[s].end[at_q]; ++i) {
                    auto& own = ranks.try_emplace(all[s].id(i), all.size(), 0).first->second[s];
                    if (own == 0) own = static_cast<std::int32_t>(i - all[s].begin[at_q] + 1);
                }
            std::vector<std::pair<double, std::u32string>> expected;
            for (const auto& [id, own] : ranks) {
                double score = 0.0;
                int found = 0;
                for (std::size_t s = 0; s < all.size(); ++s) {
                    const Lists& lists = all[s];
                    const auto i = static_cast<std::size_t>(lists.begin[at_q] + own[s] - 1);
                    score += lists.weight * (own[s] == 0 ? lists.missing[at_q]
                                                         : (lists.gains[i] - lists.shift[at_q]) /
                                                               lists.unit[at_q]);
                    found += own[s] != 0;
                }
                expected.emplace_back(times_count ? score * found : score, id);
            }
            std::sort(expected.rbegin(), expected.rend());
            const auto first = static_cast<std::size_t>(out.offsets[at_q]);
            CHECK(static_cast<std::size_t>(out.offsets[at_q + 1]) - first == expected.size());
            for (std::size_t r = 0; r < expected.size(); ++r) {
                const auto& [score, id] = expected[r];
                CHECK(out.scores[first + r] == score);
                for (std::size_t c = 0; c < width; ++c)
                    CHECK(out.ids[(first + r) * width + c] == (c < id.size() ? id[c] : 0));
                for (std::size_t s = 0; s < all.size(); ++s) {
                    CHECK(out.part_ranks[s * room + first + r] == ranks[id][s]);
                    CHECK(std::isnan(out.part_scores[s * room + first + r]) == (ranks[id][s] == 0));
                }
            }
        }
    }
}

TEST(moments_are_mean_and_deviation) {
    const std::vector<double> values{1.0, 3.0, 5.0, 5.0};
    const std::vector<std::int64_t> begin{0, 2, 4}, end{2, 4, 4};
    std::vector<double> mean(3), sd(3);
    paretocut::moments(values.data(), begin.data(), end.data(), 3, mean.data(), sd.data());
    CHECK((mean == std::vector<double>{2.0, 5.0, 0.0}));
    CHECK((sd == std::vector<double>{1.0, 0.0, 0.0}));
}

}  // namespace
