#include "sinks/search/document_writer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "sinks/search/stored_document.hpp"

namespace cdc::sinks::search {

namespace {

constexpr std::string_view empty_id = "__empty__";
constexpr std::string_view null_id = "__null__";
constexpr std::size_t row_id_digits = 32;

std::string constant_json(const target_column& it) {
  json_writer out;
  value_writer().write({it.what}, it.constant, out);
  return std::string(out.text());
}

} // namespace

document_writer::document_writer(target_table_ptr table) : table_(std::move(table)) {
  const auto& shape = *table_->source;
  for (const auto& it : table_->columns) {
    field made;
    made.name = it.name;
    made.prefix = "," + as_json(it.name) + ":";
    if (it.source) {
      const auto& from = shape.columns[*it.source];
      made.how = {it.what, from.element, from.delimiter};
      made.source = *it.source;
    } else {
      made.is_constant = true;
      made.constant = constant_json(it);
    }
    fields_.push_back(std::move(made));
  }
  key_ = table_->key;
  for (std::uint16_t i = 0; i < fields_.size(); ++i)
    by_name_.push_back(i);
  const auto name_of = [&](std::uint16_t at) { return std::string_view{fields_[at].name}; };
  std::ranges::sort(key_, {}, name_of);
  std::ranges::sort(by_name_, {}, name_of);
  if (key_.size() > 1)
    for (const auto at : key_)
      key_marks_.push_back("," + fields_[at].name + "=");
}

// -- identity -------------------------------------------------------------------------------------

void document_writer::append_id(row_image row, std::string& out) {
  if (key_.empty())
    return append_row_id(row, out);
  const auto begin = out.size();
  append_key_id(row, out);
  const auto made = std::string_view{out}.substr(begin);
  if (made.empty()) {
    out += empty_id;
  } else if (made.size() > id_bytes_max || made == empty_id || is_ambiguous(row)) {
    auto hash = sha256(made);
    if (is_ambiguous(row)) {
      // The parts with their lengths: what the joined text does not tell apart.
      std::string parts;
      for (const auto at : key_) {
        const auto value = row.from->text(cell_of(fields_[at], row));
        parts += fmt::format("{}:{}", value.size(), value);
      }
      hash = sha256(parts);
    }
    out.resize(begin);
    out += hash;
  }
}

void document_writer::append_key_id(row_image row, std::string& out) const {
  for (std::size_t i = 0; i < key_.size(); ++i) {
    const auto& it = fields_[key_[i]];
    if (!key_marks_.empty())
      out += std::string_view{key_marks_[i]}.substr(i == 0 ? 1 : 0);
    const auto value = cell_of(it, row);
    if (value.has_value())
      value_writer::append_to_id(it.how, row.from->text(value), out);
    else
      out += null_id;
  }
}

/// `a=1,b=2` may be the row (1, 2) of columns a and b, or a value that only looks like two.
bool document_writer::is_ambiguous(row_image row) const {
  return std::ranges::any_of(key_marks_, [&](const std::string& mark) {
    return std::ranges::any_of(key_, [&](std::uint16_t at) {
      const auto value = cell_of(fields_[at], row);
      return value.has_value() && row.from->text(value).find(mark) != std::string_view::npos;
    });
  });
}

void document_writer::append_row_id(row_image row, std::string& out) {
  scratch_.clear();
  for (const auto at : by_name_) {
    const auto& it = fields_[at];
    if (it.is_constant)
      continue;
    scratch_.raw(it.prefix);
    write_value(it, *row.from, cell_of(it, row), scratch_);
  }
  std::string whole{scratch_.text()};
  if (!whole.empty())
    whole.front() = '{';
  out += sha256(whole + "}").substr(0, row_id_digits);
}

// -- documents ------------------------------------------------------------------------------------

inline void document_writer::write_value(const field& it, const block& from, cell value,
                                         json_writer& out) {
  if (value.has_value()) [[likely]]
    values_.write(it.how, from.text(value), out);
  else
    out.raw("null");
}

void document_writer::write(row_image row, json_writer& out) {
  const auto* cells = row.from->cells.data() + row.first;
  bool is_first = true;
  out.raw('{');
  for (const auto& it : fields_) {
    out.raw(std::string_view{it.prefix}.substr(is_first ? 1 : 0));
    is_first = false;
    if (it.is_constant)
      out.raw(it.constant);
    else
      write_value(it, *row.from, cells[it.source], out);
  }
  out.raw('}');
}

const row_image* document_writer::supplier(const field& it, std::span<const row_image> over) {
  if (it.is_constant)
    return nullptr;
  for (auto image = over.rbegin(); image != over.rend(); ++image)
    if (!cell_of(it, *image).is_absent())
      return &*image;
  return nullptr;
}

void document_writer::write(row_image row, std::span<const row_image> over, json_writer& out) {
  bool is_first = true;
  out.raw('{');
  for (const auto& it : fields_) {
    out.raw(std::string_view{it.prefix}.substr(is_first ? 1 : 0));
    is_first = false;
    if (it.is_constant) {
      out.raw(it.constant);
      continue;
    }
    const auto* from = supplier(it, over);
    const auto image = from == nullptr ? row : *from;
    write_value(it, *image.from, cell_of(it, image), out);
  }
  out.raw('}');
}

bool document_writer::write(std::string_view stored, std::span<const row_image> over,
                            json_writer& out) {
  const auto begin = out.size();
  std::vector<const row_image*> from;
  for (const auto& it : fields_)
    from.push_back(supplier(it, over));
  bool is_first = true;
  const auto comma = [&] {
    if (!is_first)
      out.raw(',');
    is_first = false;
  };
  out.raw('{');
  const auto is_object = for_each_field(stored, [&](const stored_field& was) {
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (from[i] != nullptr && fields_[i].name == was.name)
        return;
    comma();
    out.string(was.name);
    out.raw(':');
    splice(was.json, out);
  });
  if (!is_object) {
    out.cut(begin);
    return false;
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (from[i] == nullptr)
      continue;
    comma();
    out.raw(std::string_view{fields_[i].prefix}.substr(1));
    write_value(fields_[i], *from[i]->from, cell_of(fields_[i], *from[i]), out);
  }
  out.raw('}');
  return true;
}

std::string sha256(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(), nullptr);
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += digits[hash[i] >> 4U];
    out += digits[hash[i] & 0xFU];
  }
  return out;
}

} // namespace cdc::sinks::search
