package peers

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

func openRaft(dir string) (saver, error) {
	_, s, err := reopenRaft(dir, raftwal.DefaultSegmentSize)
	return s, err
}

// reopenRaft opens the log in dir, which may be empty.
func reopenRaft(dir string, segment int) (recs [][]byte, s saver, err error) {
	var meta metadb.BoltMetaDB // WAL.Close does not close it
	defer func() {
		if s.close == nil {
			meta.Close() // also after a panic: it is locked
		}
	}()
	w, err := raftwal.Open(dir, raftwal.WithLogger(hclog.NewNullLogger()), raftwal.WithSegmentSize(segment), raftwal.WithMetaStore(&meta))
	if err != nil {
		return nil, saver{}, err
	}
	fail := func(err error) ([][]byte, saver, error) {
		return nil, saver{}, errors.Join(err, w.Close())
	}
	first, last, err := indexes(w)
	if err != nil {
		return fail(err)
	}
	for i := first; i <= last && i > 0; i++ {
		var l raft.Log
		if err := w.GetLog(i, &l); err != nil {
			return fail(fmt.Errorf("record %d: %w", i, err))
		}
		recs = append(recs, l.Data)
	}
	var logs []*raft.Log
	return recs, saver{
		save: func(recs [][]byte) error {
			logs = logs[:0]
			for _, rec := range recs {
				last++
				logs = append(logs, &raft.Log{Index: last, Term: 1, Data: rec})
			}
			return w.StoreLogs(logs)
		},
		close: func() error { return errors.Join(w.Close(), meta.Close()) },
	}, nil
}
