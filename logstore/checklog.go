package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// checkLog returns an error if the log of the store in dir is gone: there are segments, or
// the directory quarantine, which Open makes behind the log, and no file of a log. Open
// would make an empty log, which says nothing of what was there.
func checkLog(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, logDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the log tells
	}
	for _, e := range entries {
		if e.Name() == "META" || filepath.Ext(e.Name()) == ".wal" {
			return nil
		}
	}
	segments, err := os.ReadDir(filepath.Join(dir, catalog.SegmentDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range segments {
		if _, ok := catalog.ParseName(e.Name()); ok {
			return goneError(filepath.Join(dir, logDir))
		}
	}
	quarantine := filepath.Join(dir, catalog.QuarantineDir)
	if _, err := os.Lstat(quarantine); err == nil {
		return fmt.Errorf("the log in %s is missing, and so are all segments, and %s says that there was a store; nothing was changed; bring them back, or remove %[2]s to begin an empty store", filepath.Join(dir, logDir), quarantine)
	}
	return nil
}

func goneError(log string) error {
	return fmt.Errorf("the log in %s is missing, and there are segments; nothing was changed; bring it back, or let stele repair make one", log)
}

// checkPositions returns an error if a log that has the positions to before next ends
// before positions that its segments have.
func checkPositions(list []catalog.Holding, next uint64) error {
	upto := uint64(0)
	for _, h := range list {
		upto = max(upto, h.Upto)
	}
	if upto >= next {
		return behindError(upto, next)
	}
	return nil
}
