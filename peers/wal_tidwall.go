package peers

import (
	"fmt"
	"path/filepath"

	tidwal "github.com/tidwall/wal"
)

func openTidwall(dir string) (saver, error) {
	_, s, err := reopenTidwall(dir, tidwal.DefaultOptions.SegmentSize)
	return s, err
}

// reopenTidwall opens the log in dir, which may be empty.
func reopenTidwall(dir string, segment int) (recs [][]byte, s saver, err error) {
	o := *tidwal.DefaultOptions
	o.SegmentSize = segment
	w, err := tidwal.Open(filepath.Join(dir, "log"), &o)
	if err != nil {
		return nil, saver{}, err
	}
	fail := func(err error) ([][]byte, saver, error) {
		w.Close()
		return nil, saver{}, err
	}
	first, last, err := indexes(w)
	if err != nil {
		return fail(err)
	}
	for i := first; i <= last && i > 0; i++ {
		rec, err := w.Read(i)
		if err != nil {
			return fail(fmt.Errorf("record %d: %w", i, err))
		}
		recs = append(recs, rec)
	}
	var batch tidwal.Batch
	return recs, saver{
		save: func(recs [][]byte) error {
			for _, rec := range recs {
				last++
				batch.Write(last, rec)
			}
			return w.WriteBatch(&batch)
		},
		close: w.Close,
	}, nil
}
