#include "sources/mysql/statement.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

namespace cdc::sources::mysql {

namespace {

using kind = statement::kind;

struct token {
  enum class form : std::uint8_t { end, word, name, text, sign };
  form what = form::end;
  std::string text{}; ///< A word as written; a name without its quotes; a sign is one character.
};

bool is_word_letter(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '$' ||
         static_cast<unsigned char>(letter) >= 0x80;
}

bool is_blank(char letter) noexcept {
  return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

class tokens {
public:
  tokens(std::string_view text, bool ansi_quotes) : rest_(text), ansi_quotes_(ansi_quotes) {
    advance();
  }

  [[nodiscard]] const token& now() const noexcept { return now_; }
  [[nodiscard]] bool at_end() const noexcept { return now_.what == token::form::end; }

  void advance() {
    skip();
    if (rest_.empty()) {
      now_ = {};
      return;
    }
    const auto first = rest_.front();
    if (first == '`' || first == '"' || first == '\'')
      return quoted(first);
    if (is_word_letter(first)) {
      const auto end = std::ranges::find_if_not(rest_, is_word_letter);
      now_ = {token::form::word, std::string{rest_.begin(), end}};
      rest_.remove_prefix(now_.text.size());
      return;
    }
    now_ = {token::form::sign, std::string{first}};
    rest_.remove_prefix(1);
  }

  [[nodiscard]] bool is(std::string_view word) const noexcept {
    return now_.what == token::form::word &&
           std::ranges::equal(now_.text, word, [](char a, char b) {
             return (a >= 'a' && a <= 'z' ? a - 0x20 : a) == b;
           });
  }
  [[nodiscard]] bool is_any(std::initializer_list<std::string_view> words) const noexcept {
    return std::ranges::any_of(words, [&](std::string_view word) { return is(word); });
  }
  [[nodiscard]] bool is_sign(char wanted) const noexcept {
    return now_.what == token::form::sign && now_.text.front() == wanted;
  }
  bool take(std::string_view word) {
    if (!is(word))
      return false;
    advance();
    return true;
  }
  bool take_sign(char wanted) {
    if (!is_sign(wanted))
      return false;
    advance();
    return true;
  }
  void take_all(std::initializer_list<std::string_view> words) {
    while (is_any(words))
      advance();
  }

  /// `schema.name` or `name`.
  std::optional<table_id> take_table(std::string_view schema) {
    if (!is_name())
      return std::nullopt;
    auto first = now_.text;
    advance();
    if (!is_sign('.'))
      return table_id{std::string{schema}, std::move(first)};
    advance();
    if (!is_name())
      return std::nullopt;
    auto out = table_id{std::move(first), now_.text};
    advance();
    return out;
  }

private:
  [[nodiscard]] bool is_name() const noexcept {
    return now_.what == token::form::word || now_.what == token::form::name;
  }

  // The words of `/*! … */`, `/*!50100 … */` and `/*M! … */` count; other comments are blanks.
  void skip() {
    for (;;) {
      while (!rest_.empty() && is_blank(rest_.front()))
        rest_.remove_prefix(1);
      if (rest_.starts_with("/*!") || rest_.starts_with("/*M!")) {
        rest_.remove_prefix(rest_[2] == 'M' ? 4 : 3);
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9')
          rest_.remove_prefix(1);
      } else if (rest_.starts_with("*/")) {
        rest_.remove_prefix(2);
      } else if (rest_.starts_with("/*")) {
        drop_through("*/");
      } else if (rest_.starts_with("#") ||
                 (rest_.starts_with("--") && (rest_.size() == 2 || is_blank(rest_[2])))) {
        drop_through("\n");
      } else {
        return;
      }
    }
  }

  void drop_through(std::string_view mark) {
    const auto at = rest_.find(mark);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + mark.size());
  }

  void quoted(char quote) {
    const auto is_text = quote == '\'' || (quote == '"' && !ansi_quotes_);
    now_ = {is_text ? token::form::text : token::form::name, {}};
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const auto letter = rest_.front();
      rest_.remove_prefix(1);
      if (letter == quote) {
        if (!rest_.starts_with(quote))
          return;
        rest_.remove_prefix(1);
      } else if (is_text && letter == '\\' && !rest_.empty()) {
        rest_.remove_prefix(1);
        continue;
      }
      now_.text += letter;
    }
  }

  std::string_view rest_;
  bool ansi_quotes_;
  token now_;
};

void take_if_exists(tokens& in) {
  if (in.take("IF"))
    in.take_all({"NOT", "EXISTS"});
}

void add_table(tokens& in, std::string_view schema, statement& out) {
  if (auto table = in.take_table(schema))
    out.tables.push_back(*std::move(table));
}

statement one_table(kind what, tokens& in, std::string_view schema) {
  statement out{what};
  add_table(in, schema, out);
  return out.tables.empty() ? statement{} : out;
}

statement read_drop(tokens& in, std::string_view schema) {
  const auto is_temporary = in.take("TEMPORARY");
  if (in.take("DATABASE") || in.take("SCHEMA")) {
    take_if_exists(in);
    auto out = one_table(kind::drop_schema, in, {});
    if (!out.tables.empty())
      out.tables[0] = {out.tables[0].name, {}};
    return out;
  }
  if ((!in.take("TABLE") && !in.take("TABLES")) || is_temporary)
    return {};
  take_if_exists(in);
  statement out{kind::drop};
  do
    add_table(in, schema, out);
  while (in.take_sign(','));
  return out;
}

statement read_rename(tokens& in, std::string_view schema) {
  if (!in.take("TABLE") && !in.take("TABLES"))
    return {};
  take_if_exists(in);
  statement out{kind::rename};
  do {
    add_table(in, schema, out);
    while (!in.at_end() && !in.take("TO"))
      in.advance();
    add_table(in, schema, out);
  } while (in.take_sign(','));
  return out;
}

statement read_create(tokens& in, std::string_view schema) {
  auto is_new = false;
  if (in.take("OR"))
    is_new = in.take("REPLACE");
  if (in.is("TEMPORARY") || !in.take("TABLE"))
    return {};
  // It may have been there already, and be what it was.
  const auto may_stand = in.is("IF") && !is_new;
  take_if_exists(in);
  auto out = one_table(kind::create, in, schema);
  if (may_stand && !out.tables.empty())
    out.what = kind::alter;
  return out;
}

statement read_alter(tokens& in, std::string_view schema) {
  in.take_all({"ONLINE", "IGNORE"});
  if (!in.take("TABLE"))
    return {};
  take_if_exists(in);
  auto out = one_table(kind::alter, in, schema);
  while (!in.at_end() && !out.tables.empty()) {
    if (in.take("EXCHANGE") || in.take("TRUNCATE") || in.take("DROP") || in.take("IMPORT") ||
        in.take("DISCARD")) {
      if (in.is_any({"PARTITION", "TABLESPACE"}))
        out.what = kind::partition;
    } else if (in.take("WITH")) {
      if (in.take("TABLE"))
        add_table(in, schema, out);
    } else if (in.take("RENAME")) {
      // Of a column, an index or a key it says so.
      if (in.is_any({"COLUMN", "INDEX", "KEY", "CONSTRAINT"}))
        continue;
      in.take_all({"TO", "AS"});
      in.take_sign('=');
      add_table(in, schema, out);
    } else {
      in.advance();
    }
  }
  return out;
}

/// All names up to the word that ends the tables of the statement.
statement read_change(tokens& in, std::string_view schema,
                      std::initializer_list<std::string_view> ends) {
  statement out{kind::change_rows};
  while (!in.at_end() && !in.is_any(ends)) {
    if (auto table = in.take_table(schema))
      out.tables.push_back(*std::move(table));
    else
      in.advance();
  }
  return out;
}

statement read_insert(tokens& in, std::string_view schema) {
  in.take_all({"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"});
  return one_table(kind::change_rows, in, schema);
}

statement read_load(tokens& in, std::string_view schema) {
  while (!in.at_end() && !in.take("TABLE"))
    in.advance();
  return one_table(kind::change_rows, in, schema);
}

statement read_xa(tokens& in) {
  if (in.is_any({"START", "BEGIN"}))
    return {kind::xa_start};
  if (in.is("COMMIT"))
    return {kind::xa_commit};
  if (in.is("ROLLBACK"))
    return {kind::xa_rollback};
  return {};
}

} // namespace

statement read_statement(std::string_view text, std::string_view schema, bool ansi_quotes) {
  tokens in{text, ansi_quotes};
  if (in.take("BEGIN"))
    return {kind::begin};
  if (in.take("COMMIT"))
    return {kind::commit};
  if (in.take("ROLLBACK")) {
    in.take("WORK");
    return {in.at_end() ? kind::rollback : kind::other};
  }
  if (in.take("XA"))
    return read_xa(in);
  if (in.take("START"))
    return {in.is("TRANSACTION") ? kind::begin : kind::other};
  if (in.take("TRUNCATE")) {
    in.take("TABLE");
    return one_table(kind::truncate, in, schema);
  }
  if (in.take("CREATE"))
    return read_create(in, schema);
  if (in.take("ALTER"))
    return read_alter(in, schema);
  if (in.take("DROP"))
    return read_drop(in, schema);
  if (in.take("RENAME"))
    return read_rename(in, schema);
  if (in.take("INSERT") || in.take("REPLACE"))
    return read_insert(in, schema);
  if (in.take("UPDATE"))
    return read_change(in, schema, {"SET"});
  if (in.take("DELETE"))
    return read_change(in, schema, {"WHERE", "ORDER", "LIMIT", "RETURNING"});
  if (in.take("LOAD"))
    return read_load(in, schema);
  if (in.take("WITH"))
    return read_change(in, schema, {});
  return {};
}

} // namespace cdc::sources::mysql
