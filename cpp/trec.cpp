#include "trec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "ids.hpp"
#include "numbers.hpp"

namespace paretocut::trec {
namespace {

// The separators of isspace() in the C locale, and of bytes.split() in Python.
constexpr std::array<bool, 256> make_ends_field() {
    std::array<bool, 256> table{};
    for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'})
        table[static_cast<unsigned char>(c)] = true;
    return table;
}
constexpr auto ends_field = make_ends_field();

bool is_space(char c) { return ends_field[static_cast<unsigned char>(c)]; }

// Splits a line into at most fields.size() fields; returns how many there really are.
// *end is a line break, so a field always ends.
std::size_t split(const char* p, const char* end, std::span<std::string_view> fields) {
    std::size_t count = 0;
    while (true) {
        while (p < end && is_space(*p)) ++p;
        if (p >= end) return count;
        const char* begin = p;
        while (!is_space(*p)) ++p;
        if (count < fields.size()) fields[count] = {begin, static_cast<std::size_t>(p - begin)};
        ++count;
    }
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t shown = 60;
    std::string out = "'";
    out += text.substr(0, shown);
    out += text.size() > shown ? "...'" : "'";
    return out;
}

// from_chars knows no plus sign, and must not be shown what follows "+-".
std::string_view without_plus(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    return text;
}

}  // namespace

bool Reader::fail(std::size_t line, std::string problem) {
    problem_line_ = line;
    problem_ = std::move(problem);
    return false;
}

std::size_t Reader::Hash::operator()(std::string_view text) const { return hash_id(text); }

std::size_t Reader::line_of(std::size_t row) const {
    const auto after = std::upper_bound(blanks_.begin(), blanks_.end(), row,
                                        [](std::size_t r, const Blanks& b) { return r < b.row; });
    return before_ + row + 1 + (after == blanks_.begin() ? 0 : std::prev(after)->so_far);
}

Status Reader::feed(const char* data, std::size_t size) noexcept try {
    if (!problem_.empty()) return Status::broken;
    const char* p = data;
    const char* const end = data + size;
    while (p < end) {
        const char* line_end = static_cast<const char*>(std::memchr(p, '\n', end - p));
        if (line_end == nullptr) {
            carry_.append(p, end);
            break;
        }
        bool good;
        if (carry_.empty()) {
            good = parse_line(p, line_end);
        } else {
            carry_.append(p, line_end + 1);
            good = parse_line(carry_.data(), carry_.data() + carry_.size() - 1);
            carry_.clear();
        }
        if (!good) return Status::broken;
        p = line_end + 1;
    }
    if (carry_.size() > max_line_bytes) {
        fail(lines_ + 1, "line is longer than " + std::to_string(max_line_bytes) + " bytes");
        return Status::broken;
    }
    return Status::ok;
} catch (...) {
    return Status::no_memory;
}

Status Reader::finish() noexcept try {
    if (!carry_.empty()) {
        carry_.push_back('\n');
        if (!parse_line(carry_.data(), carry_.data() + carry_.size() - 1)) return Status::broken;
        carry_.clear();
    }
    if (!problem_.empty()) return Status::broken;
    group_rows();
    if (!refuse_duplicates()) return Status::broken;
    sort_rows();
    return Status::ok;
} catch (...) {
    return Status::no_memory;
}

bool Reader::parse_line(const char* begin, const char* end) {
    const std::size_t line = ++lines_;
    if (static_cast<std::size_t>(end - begin) > max_line_bytes) {
        return fail(line, "line is longer than " + std::to_string(max_line_bytes) + " bytes");
    }
    if (line == 1 && std::string_view(begin, end).starts_with("\xEF\xBB\xBF")) begin += 3;

    std::array<std::string_view, 6> fields;
    const std::size_t expected = kind_ == Kind::run ? 6 : 4;
    const std::size_t count = split(begin, end, fields);
    if (count == 0) {
        if (blanks_.empty() || blanks_.back().row != value_.size()) {
            blanks_.push_back({value_.size(), blanks_.empty() ? 0 : blanks_.back().so_far});
        }
        ++blanks_.back().so_far;
        return true;
    }
    if (count != expected) {
        const char* names = kind_ == Kind::run ? "6 fields (qid Q0 docno rank score tag)"
                                               : "4 fields (qid iter docno grade)";
        return fail(line, std::string("expected ") + names + ", got " + std::to_string(count));
    }
    const std::string_view query = fields[0];
    const std::string_view doc = fields[2];
    for (const auto& [name, id] : {std::pair{"qid", query}, std::pair{"docno", doc}}) {
        if (id.size() > max_id_bytes) {
            return fail(line, std::string(name) + " must have at most " +
                                  std::to_string(max_id_bytes) + " bytes, got " +
                                  std::to_string(id.size()));
        }
        if (id.find('\0') != std::string_view::npos) {
            return fail(line, std::string(name) + " must be text, got a NUL byte");
        }
    }
    if (value_.size() == std::numeric_limits<std::uint32_t>::max() - 1) {
        return fail(line, "expected at most 4294967294 results, got more");
    }
    if (!parse_value(kind_ == Kind::run ? fields[4] : fields[3])) return false;
    code_.push_back(query_code(query));
    doc_text_.append(doc.data(), doc.size());
    doc_end_.push_back(doc_text_.size());
    doc_width_ = std::max(doc_width_, doc.size());
    return true;
}

bool Reader::parse_value(std::string_view text) {
    const bool is_run = kind_ == Kind::run;
    double value = 0.0;
    std::from_chars_result result;
    const std::string_view number = without_plus(text);
    const char* const end = text.data() + text.size();
    if (is_run) {
        result = read_double(number.data(), end, value);
    } else {
        std::int32_t grade = 0;
        result = std::from_chars(number.data(), end, grade);
        value = grade;
    }
    const char* problem = nullptr;
    if (result.ec == std::errc::invalid_argument || result.ptr != end) {
        problem = is_run ? " is not a number" : " is not an integer";
    } else if (result.ec == std::errc::result_out_of_range) {
        problem = " does not fit 32 bits";
    } else if (!std::isfinite(value)) {
        const bool in_digits = text.find_first_of("0123456789") != std::string_view::npos;
        problem = in_digits ? " does not fit a double" : " is not finite";
    }
    if (problem != nullptr) {
        return fail(lines_, (is_run ? "score " : "grade ") + in_quotes(text) + problem);
    }
    value_.push_back(sign_ * value);
    return true;
}

std::uint32_t Reader::query_code(std::string_view id) {
    // Runs are nearly always grouped, so the query of the line before is the best guess.
    if (code_.size() > 0) {
        const std::uint32_t last = code_[code_.size() - 1];
        if (query_ids_[last] == id) return last;
    }
    const auto found = query_codes_.find(id);
    if (found != query_codes_.end()) return found->second;
    const auto code = static_cast<std::uint32_t>(query_ids_.size());
    query_ids_.emplace_back(id);
    first_row_.push_back(code_.size());
    query_codes_.emplace(id, code);
    return code;
}

// A counting sort: stable, so the rows of a query stay in file order.
void Reader::group_rows() {
    const std::size_t rows = code_.size();
    query_begin_.assign(query_ids_.size() + 1, 0);
    for (std::size_t row = 0; row < rows; ++row) ++query_begin_[code_[row] + 1];
    for (std::size_t q = 0; q < query_ids_.size(); ++q) query_begin_[q + 1] += query_begin_[q];
    std::vector<std::size_t> next(query_begin_.begin(), query_begin_.end() - 1);
    order_.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        order_[next[code_[row]]++] = static_cast<std::uint32_t>(row);
    }
    code_.clear();
}

bool Reader::refuse_duplicates() {
    const auto id_of = [this](std::uint32_t row) { return doc_id(row); };
    IdTable table;
    std::uint32_t again = IdTable::none;  // of all repeated rows the one nearest to the top
    std::uint32_t first = 0;
    std::size_t query = 0;
    std::size_t kept = 0;
    for (std::size_t q = 0, begin = 0; q < query_ids_.size(); ++q) {
        const std::size_t end = query_begin_[q + 1];
        table.reset(end - begin);
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t row = order_[i];
            const std::uint32_t earlier = table.find_or_insert(doc_id(row), row, id_of);
            if (earlier == IdTable::none) {
                order_[kept++] = row;
            } else if (kind_ == Kind::run || value_[row] != value_[earlier]) {
                if (row > again) break;
                again = row;
                first = earlier;
                query = q;
            }
        }
        begin = end;
        query_begin_[q + 1] = kept;
    }
    order_.resize(kept);
    if (again == IdTable::none) return true;
    return fail(line_of(again), "document " + in_quotes(doc_id(again)) + " comes twice for query " +
                                    in_quotes(query_ids_[query]) + ", first on line " +
                                    std::to_string(line_of(first)));
}

void Reader::sort_rows() {
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
        if (value_[a] != value_[b]) return value_[a] > value_[b];
        return doc_id(a) > doc_id(b);
    };
    for (std::size_t q = 0; q < query_ids_.size(); ++q) {
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(query_begin_[q]);
        const auto end = order_.begin() + static_cast<std::ptrdiff_t>(query_begin_[q + 1]);
        if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    }
}

void Reader::emit(std::int64_t* offsets, double* values, char* doc_ids) noexcept {
    for (std::size_t q = 0; q < query_begin_.size(); ++q) {
        offsets[q] = static_cast<std::int64_t>(query_begin_[q]);
    }
    for (const std::uint32_t row : order_) {
        const std::string_view id = doc_id(row);
        std::memcpy(doc_ids, id.data(), id.size());
        std::memset(doc_ids + id.size(), 0, doc_width_ - id.size());
        doc_ids += doc_width_;
    }
    doc_text_.clear();
    doc_end_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) values[i] = value_[order_[i]];
    value_.clear();
    std::vector<std::uint32_t>().swap(order_);
}

Status judge(Documents results, std::span<const std::int64_t> judged_as, Documents judged,
             const std::int32_t* judged_grades, std::int32_t* grades) noexcept try {
    const auto id_at = [](const Documents& documents, std::size_t i) -> std::string_view {
        const std::uint32_t* id = documents.ids + i * documents.width;
        std::size_t length = documents.width;
        while (length > 0 && id[length - 1] == 0) --length;
        return {reinterpret_cast<const char*>(id), length * sizeof *id};
    };
    const auto id_of = [&](std::uint32_t i) { return id_at(judged, i); };
    IdTable table;
    for (std::size_t q = 0; q < judged_as.size(); ++q) {
        const auto begin = static_cast<std::size_t>(results.offsets[q]);
        const auto end = static_cast<std::size_t>(results.offsets[q + 1]);
        if (judged_as[q] < 0) {
            std::fill(grades + begin, grades + end, 0);
            continue;
        }
        const auto first = static_cast<std::size_t>(judged.offsets[judged_as[q]]);
        const auto last = static_cast<std::size_t>(judged.offsets[judged_as[q] + 1]);
        table.reset(last - first);
        for (std::size_t i = first; i < last; ++i) {
            table.find_or_insert(id_of(static_cast<std::uint32_t>(i)),
                                 static_cast<std::uint32_t>(i), id_of);
        }
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t found =
                table.find_or_insert(id_at(results, i), IdTable::none, id_of);
            grades[i] = found == IdTable::none ? 0 : judged_grades[found];
        }
    }
    return Status::ok;
} catch (...) {
    return Status::no_memory;
}

}  // namespace paretocut::trec
