package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
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
	return allGoneError(dir)
}

// allGoneError returns the error for a store of which the log and all segments are gone,
// while there is a quarantine, which may have the only copy of entries; nil if there is
// none.
func allGoneError(dir string) error {
	quarantine := filepath.Join(dir, catalog.QuarantineDir)
	entries, err := os.ReadDir(quarantine)
	if err != nil {
		return nil
	}
	segments, logs, tails := 0, 0, 0
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), catalog.SegmentSuffix):
			segments++
		case strings.HasPrefix(e.Name(), "torn-") && strings.HasSuffix(e.Name(), logSuffix):
			tails++
		case strings.HasPrefix(e.Name(), quarantinedN) && e.IsDir():
			if _, err := wal.Inspect(filepath.Join(quarantine, e.Name())); err == nil {
				logs++
			}
		}
	}
	gone := fmt.Sprintf("the log in %s is missing, and so are all segments, and %s says that there was a store; nothing was changed; bring them back", filepath.Join(dir, logDir), quarantine)
	if segments+logs+tails == 0 {
		return fmt.Errorf("%s, or remove %s, in which nothing of it is left, to begin an empty store", gone, quarantine)
	}
	return fmt.Errorf("%s; %s has %s, %s and %s of the log, perhaps the only copies: stele import FILE DST, for each segment and the directory of each log, reads them into another store; move %[2]s away to begin an empty store",
		gone, quarantine, units.Count(segments, "segment"), units.Count(logs, "log"), units.Count(tails, "torn tail"))
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
