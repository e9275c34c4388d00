package header

import "testing"

// A FUSE file system that does not implement statfs(2) reports blocks of 0 bytes, and
// a hostile one any size.
func TestBlockSizeOfNoFileSystem(t *testing.T) {
	for _, block := range []int64{-1, 0, 1, maxBlock + 1, 1 << 40} {
		for _, elastic := range []bool{false, true} {
			e := &edit{fixed: []byte("head"), padMore: elastic}
			if extra, err := e.padToBlock(block); !isNotApplicable(err) || extra != 0 {
				t.Errorf("blocks of %d bytes, elastic %v: %d more, %v", block, elastic, extra, err)
			}
		}
	}
}
