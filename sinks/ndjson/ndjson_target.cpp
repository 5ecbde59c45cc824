#include "sinks/ndjson/ndjson_target.hpp"

namespace cdc::sinks::ndjson {

ndjson_target::~ndjson_target() {
  // Courtesy to whoever reads the file now; the next start would cut it as well.
  if (data_ && data_->size() > committed_ && checkpoint_->check())
    static_cast<void>(data_->cut(committed_));
}

result<sink_state> ndjson_target::open(const stream_identity& stream) {
  auto file = real_path(options_.path);
  if (!file)
    return tl::unexpected(std::move(file).error());
  auto lock = file_lock::take(*file);
  if (!lock)
    return tl::unexpected(std::move(lock).error());
  lock_ = std::move(*lock);
  checkpoint_.emplace(*file);
  data_file data(*file);
  data_ = std::move(data);
  if (auto restored = restore(stream); !restored) {
    data_.reset();
    return tl::unexpected(std::move(restored).error());
  }
  return state_.kept.to_sink_state();
}

/// What this start resumes from is made durable first: the source may have been told of less.
result<void> ndjson_target::restore(const stream_identity& stream) {
  auto stored = checkpoint_->read();
  if (!stored)
    return tl::unexpected(std::move(stored).error());
  if (*stored && (*stored)->kept.stream != stream)
    return fail(errc::foreign_stream,
                "{} belongs to another stream ({} server {}, stream {}): name another file",
                options_.path, (*stored)->kept.stream.source, (*stored)->kept.stream.server,
                (*stored)->kept.stream.stream);
  if (*stored)
    state_ = std::move(**stored);
  state_.kept.stream = stream;
  ++state_.kept.epoch;
  state_.boot.clear(); // of the life that wrote it
  committed_ = state_.bytes;
  const auto opened = *stored ? data_->open(state_.file, state_.bytes) : data_->create();
  return opened.and_then([&] { return commit(true); });
}

result<std::vector<std::string>> ndjson_target::prepare(const std::vector<target_table_ptr>&) {
  return std::vector<std::string>();
}

result<write_report> ndjson_target::write(const batch& work) {
  if (is_interrupted_)
    return fail(errc::cancelled, "the target was told to stop");
  if (auto written = write_all(work); !written) {
    if (written.error().code != errc::fenced)
      static_cast<void>(data_->cut(committed_));
    return tl::unexpected(std::move(written).error());
  }
  auto report = report_of(work);
  if (work.is_durable && work.ends_transaction && state_.kept.resume)
    report.durable = state_.kept.resume->resume;
  return report;
}

result<void> ndjson_target::write_all(const batch& work) {
  const bool is_between = data_->size() == committed_;
  auto done = checkpoint_->check();
  if (done && is_between && options_.rotate_bytes != 0 && committed_ >= options_.rotate_bytes)
    done = rotate();
  if (done)
    done = data_->append(lines_.render(work));
  if (!done)
    return done;
  state_.kept.apply(work);
  return work.ends_transaction ? commit(work.is_durable) : done;
}

/// The checkpoint names the new file before it has a line, so that a start in between can undo it.
result<void> ndjson_target::rotate() {
  return data_->rotate(state_.file).and_then([&] {
    ++state_.file;
    return commit(true);
  });
}

result<void> ndjson_target::commit(bool is_durable) {
  if (is_durable)
    if (auto synced = data_->sync(); !synced)
      return synced;
  state_.bytes = data_->size();
  return checkpoint_->write(state_, is_durable).map([&] { committed_ = state_.bytes; });
}

} // namespace cdc::sinks::ndjson
