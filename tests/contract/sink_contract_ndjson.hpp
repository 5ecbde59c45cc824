#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "sinks/make_sink.hpp"
#include "tests/contract/sink_contract.hpp"

namespace cdc::contract {

/// One JSON value of a line: an object of values, or a scalar as text. Strict enough to refuse a
/// line that is not JSON, and written apart from the code that it checks.
struct json_value {
  bool is_object = false;
  bool is_string = false;
  std::optional<std::string> text; ///< Nothing for null.
  std::vector<std::pair<std::string, json_value>> members;

  [[nodiscard]] const json_value* find(std::string_view name) const {
    for (const auto& [key, member] : members)
      if (key == name)
        return &member;
    return nullptr;
  }
  [[nodiscard]] std::string at(std::string_view name) const {
    const auto* found = find(name);
    EXPECT_NE(found, nullptr) << name;
    return found && found->text ? *found->text : "null";
  }
};

class json_parser {
public:
  explicit json_parser(std::string_view text) : text_(text) {}

  std::optional<json_value> whole() {
    auto out = value();
    return failed_ || at_ != text_.size() ? std::nullopt : std::optional(out);
  }

private:
  char next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  bool is_next(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  void expect(char c) { failed_ = failed_ || next() != c; }

  json_value value() {
    json_value out;
    if (is_next('{')) {
      out.is_object = true;
      if (is_next('}'))
        return out;
      do {
        auto name = string();
        expect(':');
        out.members.emplace_back(std::move(name), value());
      } while (!failed_ && is_next(','));
      expect('}');
    } else if (at_ < text_.size() && text_[at_] == '"') {
      out.is_string = true;
      out.text = string();
    } else {
      const auto end = std::min(text_.find_first_of(",}", at_), text_.size());
      out.text = std::string(text_.substr(at_, end - at_));
      failed_ = failed_ || out.text->empty();
      at_ = end;
      if (out.text == "null")
        out.text.reset();
    }
    return out;
  }

  std::string string() {
    std::string out;
    expect('"');
    while (!failed_ && at_ < text_.size()) {
      const char c = next();
      if (c == '"')
        return out;
      if (static_cast<unsigned char>(c) < 0x20)
        break;
      if (c != '\\') {
        out += c;
        continue;
      }
      const char escape = next();
      constexpr std::string_view plain = "\"\\/";
      if (plain.find(escape) != std::string_view::npos)
        out += escape;
      else if (escape == 'n')
        out += '\n';
      else if (escape == 'r')
        out += '\r';
      else if (escape == 't')
        out += '\t';
      else if (escape == 'u') {
        out +=
            static_cast<char>(std::strtol(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
        at_ += 4;
      } else
        break;
    }
    failed_ = true;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// Every line of a file, each a JSON object.
inline std::vector<json_value> read_lines(const std::filesystem::path& file) {
  std::vector<json_value> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    auto parsed = json_parser(line).whole();
    EXPECT_TRUE(parsed) << file << " line " << out.size() + 1 << ": " << line;
    if (parsed)
      out.push_back(std::move(*parsed));
  }
  return out;
}

/// What a consumer that applies every line would hold.
class line_replay {
public:
  explicit line_replay(target_table_ptr table) : table_(std::move(table)) {}

  void apply(const json_value& line) {
    if (line.at("table") != table_->name)
      return;
    const auto op = line.at("op");
    const auto& before = *line.find("before");
    const auto& after = *line.find("after");
    if (op == "t") {
      rows_.clear();
    } else if (op == "d") {
      take(before);
    } else {
      auto base = before.is_object ? take(before) : std::nullopt;
      if (!base && !table_->key.empty())
        base = take(after);
      shown_row merged = base.value_or(shown_row(table_->columns.size()));
      for (std::size_t i = 0; i < merged.size(); ++i)
        if (const auto* value = after.find(table_->columns[i].name))
          merged[i] = value->text;
      rows_.push_back(std::move(merged));
    }
  }

  [[nodiscard]] shown_rows rows() const { return {rows_.begin(), rows_.end()}; }

private:
  /// Removes the row an image is of: the one of its key, or, without a key, one that equals it.
  std::optional<shown_row> take(const json_value& image) {
    for (auto at = rows_.begin(); at != rows_.end(); ++at)
      if (matches(*at, image)) {
        auto out = *at;
        rows_.erase(at);
        return out;
      }
    return std::nullopt;
  }

  bool matches(const shown_row& held, const json_value& image) const {
    for (std::size_t i = 0; i < held.size(); ++i) {
      const auto* value = image.find(table_->columns[i].name);
      if (table_->key.empty() ? !value || value->text != held[i]
                              : table_->columns[i].is_key && (!value || value->text != held[i]))
        return false;
    }
    return true;
  }

  target_table_ptr table_;
  std::vector<shown_row> rows_;
};

inline config::target_config ndjson_config(const std::filesystem::path& file) {
  config::target_config out;
  out.what = config::target_config::flavor::ndjson;
  out.path = file.string();
  return out;
}

class ndjson_under_test final : public target_under_test {
public:
  explicit ndjson_under_test(const std::filesystem::path& folder, std::uint64_t rotate_bytes = 0)
      : file_(folder / "t.ndjson"), rotate_bytes_(rotate_bytes) {}

  std::unique_ptr<sinks::sink> make() override {
    auto target = ndjson_config(file_);
    target.rotate_bytes = rotate_bytes_;
    return std::move(*sinks::make_sink(target));
  }
  shown_rows rows(const target_table_ptr& table) override {
    line_replay replay(table);
    for (const auto& line : lines())
      replay.apply(line);
    return replay.rows();
  }
  /// Of all its files, oldest first.
  [[nodiscard]] std::vector<json_value> lines() const {
    std::vector<json_value> out;
    const auto add = [&](const std::filesystem::path& file) {
      for (auto& line : read_lines(file))
        out.push_back(std::move(line));
    };
    for (int i = 1; std::filesystem::exists(aside(i)); ++i)
      add(aside(i));
    add(file_);
    return out;
  }
  void break_lock() override { std::filesystem::remove(file_.string() + ".lock"); }

private:
  [[nodiscard]] std::string aside(int number) const {
    return fmt::format("{}.{:06}", file_.string(), number);
  }

  std::filesystem::path file_;
  std::uint64_t rotate_bytes_;
};

class null_under_test final : public target_under_test {
public:
  explicit null_under_test(const std::filesystem::path& folder) : name_(folder.string()) {}

  std::unique_ptr<sinks::sink> make() override {
    config::target_config target;
    target.what = config::target_config::flavor::null;
    target.name = name_;
    return std::move(*sinks::make_sink(target));
  }
  shown_rows rows(const target_table_ptr&) override { return {}; }
  void break_lock() override {}

private:
  std::string name_;
};

} // namespace cdc::contract
