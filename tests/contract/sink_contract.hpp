#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sinks/sink.hpp"
#include "tests/contract/sink_contract_batches.hpp"

namespace cdc::contract {

/// A row as the target shows it: text, or nothing for NULL.
using shown_row = std::vector<std::optional<std::string>>;
using shown_rows = std::multiset<shown_row>;

/// One target, through as many lives of its sink as a test needs.
class target_under_test {
public:
  virtual ~target_under_test() = default;

  [[nodiscard]] virtual std::unique_ptr<sinks::sink> make() = 0;
  /// The rows of a table, read past the sink.
  [[nodiscard]] virtual shown_rows rows(const target_table_ptr& table) = 0;
  /// Takes the lock away from the life that holds it, as a broken file system would.
  virtual void break_lock() = 0;
};

/// While it lives, no file of this process grows past a quarter MiB: a full disk, for any user.
class full_disk {
public:
  full_disk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    auto limit = before_;
    limit.rlim_cur = bytes_max;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~full_disk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;

  static constexpr rlim_t bytes_max = 256 * 1024;

private:
  rlimit before_{};
};

/// A sink, and what tests of all sinks have to know of it.
struct contract_traits {
  std::string name;
  std::function<std::unique_ptr<target_under_test>(const std::filesystem::path& folder)> make;
  bool answers = true;    ///< partial and move say whether there was a row.
  bool isolates = true;   ///< An open transaction's rows are not visible.
  bool is_keyless = true; ///< It tells equal rows without a key apart.
  std::string suffix{};   ///< Of names, where tests of several processes share one target.
  std::string absent{};   ///< Why the target cannot be had here; then its tests are skipped.
};

inline void PrintTo(const contract_traits& traits, std::ostream* out) {
  *out << traits.name;
}

inline stream_identity orders_stream(const std::string& suffix = "") {
  return {"postgres", "7300000000000000001", "cdc_actors" + suffix, "shop", "cdc_actors_pub"};
}

/// A folder of its own, gone at the end.
class scratch_folder {
public:
  scratch_folder() {
    auto name = (std::filesystem::temp_directory_path() / "cdc-sink-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

/// Submits and waits.
inline result<write_report> write(sinks::sink& to, batch_ptr work) {
  std::promise<result<write_report>> done;
  to.submit(std::move(work),
            [&](result<write_report> report) { done.set_value(std::move(report)); });
  return done.get_future().get();
}

class sink_contract : public ::testing::TestWithParam<contract_traits> {
protected:
  void SetUp() override {
    if (!GetParam().absent.empty())
      GTEST_SKIP() << GetParam().absent;
    target_ = GetParam().make(folder_.path());
    start();
  }

  /// A new life of the sink; the one before is over first.
  sink_state start() {
    sink_.reset();
    sink_ = target_->make();
    auto state = sink_->open(orders_stream(GetParam().suffix));
    EXPECT_TRUE(state) << state.error().detail;
    const auto prepared =
        GetParam().is_keyless ? sink_->prepare({items, notes}) : sink_->prepare({items});
    EXPECT_TRUE(prepared) << prepared.error().detail;
    return state ? *state : sink_state{};
  }

  write_report write(batch_ptr work) {
    auto report = contract::write(*sink_, std::move(work));
    EXPECT_TRUE(report) << report.error().detail;
    return report ? *report : write_report{};
  }

  shown_rows rows(const target_table_ptr& table) { return target_->rows(table); }

  const target_table_ptr items = items_table(GetParam().suffix);
  const target_table_ptr notes = notes_table();
  scratch_folder folder_;
  std::unique_ptr<target_under_test> target_;
  std::unique_ptr<sinks::sink> sink_;
  batches next;
};

class row_contract : public sink_contract {};    ///< Rows can be read back.
class file_contract : public sink_contract {};   ///< A file, a lock, a state that outlives it.
class answer_contract : public sink_contract {}; ///< It knows which rows it has.

} // namespace cdc::contract
