package logstore_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// A snapshotStep makes a snapshot and opens it beside the store. It goes on with the
// snapshot, or with the store.
type snapshotStep struct{ goOn bool }

func (s snapshotStep) String() string { return fmt.Sprintf("snapshot(go on with it %t)", s.goOn) }

func (s snapshotStep) run(m *model) error {
	m.lives++
	was, old, names := m.dir, m.store, slices.Clone(m.names.batches)
	copied := m.newDir()
	info, err := old.Snapshot(m.ctx, copied)
	if err != nil {
		return err
	}
	if info.Missing != 0 || info.Linked != info.Segments {
		return fmt.Errorf("%+v", info)
	}
	if s.goOn {
		m.dir = copied
		return errors.Join(old.Close(), os.RemoveAll(was), m.open())
	}
	doubt := m.ref.doubt
	m.dir = copied
	err = m.open()
	if err == nil {
		err = errors.Join(m.compare(refQuery{}), m.store.Close())
	}
	if err != nil {
		err = fmt.Errorf("the snapshot: %w", err)
	}
	m.dir, m.store, m.names.batches, m.ref.doubt = was, old, names, doubt
	return errors.Join(err, os.RemoveAll(copied))
}
