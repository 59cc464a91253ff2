// Reader of TREC runs and judgements: bytes in, grouped columns out. Plain C++, no Python headers.
//
// The text is fed in chunks of any size; only the columns are kept, never the text. Trouble comes
// back as a Status with a line number and a sentence; nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace paretocut::trec {

enum class Kind {
    run,    // qid Q0 docno rank score tag
    qrels,  // qid iter docno grade
};

enum class Status { ok, broken, no_memory };

// Ids become fixed-width columns, so one endless id would multiply the memory of all of them.
inline constexpr std::size_t max_id_bytes = 1024;
// A file without line breaks is not a run; this keeps it from being swallowed whole.
inline constexpr std::size_t max_line_bytes = 65536;

// An append-only array of trivial values. Growth is by realloc, which moves large blocks without
// copying them, so a column never exists twice; std::vector would hold both copies while it grows.
template <typename T>
class Column {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Column() = default;
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { std::free(data_); }

    std::size_t size() const { return size_; }
    const T* data() const { return data_; }
    T operator[](std::size_t i) const { return data_[i]; }

    void push_back(T value) {
        if (size_ == capacity_) grow(size_ + 1);
        data_[size_++] = value;
    }
    void append(const T* first, std::size_t count) {
        if (count > capacity_ - size_) grow(size_ + count);
        for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = first[i];
        size_ += count;
    }
    void clear() {
        std::free(data_);
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

  private:
    void grow(std::size_t needed) {
        const std::size_t larger = capacity_ + capacity_ / 2;
        const std::size_t capacity = needed > larger ? needed + 1024 : larger;
        void* moved = std::realloc(data_, capacity * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

class Reader {
  public:
    // With `negate`, scores are distances: they are stored with the sign turned. A part of a file
    // has `lines_before` it.
    explicit Reader(Kind kind, bool negate = false, std::size_t lines_before = 0)
        : kind_(kind), sign_(negate ? -1.0 : 1.0), before_(lines_before), lines_(lines_before) {}

    // Takes the next bytes of the file. A line may be cut anywhere; the rest is expected to follow.
    Status feed(const char* data, std::size_t size) noexcept;

    // Ends the file: groups the rows by query in order of first appearance, refuses a document that
    // comes twice for a query (a judgement may, with the same grade, and counts once), and puts
    // every query in trec_eval's order: score descending, then document id descending.
    Status finish() noexcept;

    // What is wrong, after Status::broken.
    std::size_t problem_line() const { return problem_line_; }
    const std::string& problem() const { return problem_; }

    std::size_t lines() const { return lines_; }  // complete lines of the file so far

    // After finish().
    std::size_t rows() const { return order_.size(); }
    std::size_t queries() const { return query_ids_.size(); }
    std::size_t doc_width() const { return doc_width_; }
    const std::vector<std::string>& query_ids() const { return query_ids_; }
    std::size_t first_line(std::size_t query) const { return line_of(first_row_[query]); }

    // Writes the columns, once, and gives the reader's memory back: offsets (queries + 1), values
    // (rows) and doc_ids (rows x doc_width, padded with NUL).
    void emit(std::int64_t* offsets, double* values, char* doc_ids) noexcept;

  private:
    bool parse_line(const char* begin, const char* end);
    bool parse_value(std::string_view text);
    std::uint32_t query_code(std::string_view id);
    void group_rows();
    bool refuse_duplicates();
    void sort_rows();
    bool fail(std::size_t line, std::string problem);
    std::size_t line_of(std::size_t row) const;
    std::string_view doc_id(std::size_t row) const {
        const std::size_t begin = row == 0 ? 0 : doc_end_[row - 1];
        return {doc_text_.data() + begin, doc_end_[row] - begin};
    }

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const;
    };

    Kind kind_;
    double sign_;
    std::string carry_;  // the beginning of a line whose end has not come yet
    std::size_t before_;
    std::size_t lines_;
    std::size_t problem_line_ = 0;
    std::string problem_;

    // One entry per row, in file order.
    Column<std::uint32_t> code_;
    Column<double> value_;
    Column<std::size_t> doc_end_;
    Column<char> doc_text_;
    std::size_t doc_width_ = 0;

    // One entry per query, in order of first appearance.
    std::vector<std::string> query_ids_;
    std::vector<std::size_t> first_row_;
    std::vector<std::size_t> query_begin_;  // queries + 1, filled by group_rows()
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> query_codes_;

    struct Blanks {
        std::size_t row;     // the one that follows the blank lines
        std::size_t so_far;  // how many there are from the top of the file
    };
    std::vector<Blanks> blanks_;
    std::vector<std::uint32_t> order_;  // rows grouped by query, then sorted
};

// Documents with fixed-width ids (code points, padded with NUL), grouped by query.
struct Documents {
    const std::uint32_t* ids;
    std::size_t width;
    const std::int64_t* offsets;
};

// Gives every result its grade: results.offsets has one group per entry of judged_as, which names
// the group of judgements that belongs to it, or -1. Unjudged results get 0.
Status judge(Documents results, std::span<const std::int64_t> judged_as, Documents judged,
             const std::int32_t* judged_grades, std::int32_t* grades) noexcept;

}  // namespace paretocut::trec
