package peers

import (
	"errors"
	"io"
	"path/filepath"

	etcdwal "go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// openEtcd makes a log as etcd does. Save syncs whenever it is given entries
// (raft.MustSync).
func openEtcd(dir string) (saver, error) {
	w, err := etcdwal.Create(zap.NewNop(), filepath.Join(dir, "log"), nil)
	if err != nil {
		return saver{}, err
	}
	return etcdSaver(w, 0), nil
}

func etcdSaver(w *etcdwal.WAL, last uint64) saver {
	term := uint64(1)
	var entries []*raftpb.Entry
	return saver{
		save: func(recs [][]byte) error {
			entries = entries[:0]
			for _, rec := range recs {
				last++
				entries = append(entries, &raftpb.Entry{Term: &term, Index: new(last), Data: rec})
			}
			return w.Save(&raftpb.HardState{}, entries)
		},
		close: w.Close,
	}
}

// reopenEtcd opens the log as etcd does when it starts: a log that ends in the middle of
// a record is repaired, once.
func reopenEtcd(dir string) (recs [][]byte, s saver, err error) {
	dir = filepath.Join(dir, "log")
	for repaired := false; ; repaired = true {
		w, err := etcdwal.Open(zap.NewNop(), dir, &walpb.Snapshot{})
		if err != nil {
			return nil, saver{}, err
		}
		_, _, entries, err := w.ReadAll()
		if err == nil {
			for _, e := range entries {
				recs = append(recs, e.GetData())
			}
			return recs, etcdSaver(w, uint64(len(recs))), nil
		}
		err = errors.Join(err, w.Close())
		if repaired || !errors.Is(err, io.ErrUnexpectedEOF) || !etcdwal.Repair(zap.NewNop(), dir) {
			return nil, saver{}, err
		}
	}
}
