package logstore

import "context"

// RecodeProgress is how far Recode has come.
type RecodeProgress struct {
	// Done and Total are bytes of lines in blocks of another codec than Options.Codec:
	// of those that have been encoded again, and of all when Recode began.
	Done, Total int64
}

// Recode seals the memtables, and writes again each segment that has blocks of another
// codec than Options.Codec, which makes one segment of it with all that it has. It changes
// nothing that a query finds. All it writes is durable as at level Power. A segment that is
// interrupted, by ctx or a crash, stays as it was: a later call goes on with it. progress,
// unless nil, is called before each segment and at the end, in order. Blocks without the
// positions of their entries in the log, which earlier damage has cost, keep their codec.
// A block keeps its rows: blocks of CodecLines that are made of those of CodecColumns are
// as large as these were, so a query that wants a few lines reads more than before.
//
// It reads and writes at most Options.BackgroundRate. Its memory is that of a compaction,
// and the filters of the largest segment: 1 to 3 bytes a line. The error is ErrLowSpace if a
// segment was left undone for lack of space, and names the bytes that are left in another
// codec for another reason. A segment that is found damaged is salvaged, and then written.
//
// Compactions move blocks to a newer codec too, but only of the segments that they
// merge.
func (s *Store) Recode(ctx context.Context, progress func(RecodeProgress)) error {
	if err := s.Seal(ctx); err != nil {
		return err
	}
	err := s.catalog.Recode(ctx, func(done, total int64) {
		if progress != nil {
			progress(RecodeProgress{done, total})
		}
	})
	if s.isClosed() && err != nil {
		return s.opError("recode", ErrClosed)
	}
	if err != nil {
		return s.opError("recode", err)
	}
	return nil
}
