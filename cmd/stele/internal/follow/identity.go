package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
)

// headMost is how many first bytes of a file tell it from others; headLeast is how many
// tell a copy of it from other files.
const (
	headMost  = 1024
	headLeast = 32
)

// An identity is how a file is recognised. Its head grows with the file: it has all that
// was read, up to headMost bytes, before a line of that is handed out.
type identity struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"` // 0: the system has none
	// Head is a hash of the first HeadBytes bytes, of the text if it is compressed.
	Head      string `json:"head"`
	HeadBytes int    `json:"head_bytes"`
}

// identify returns the identity of an open file.
func identify(f *os.File, fi os.FileInfo) (identity, error) {
	id := inodeOf(fi)
	head := make([]byte, headMost)
	n, err := headOf(f, head)
	id.Head, id.HeadBytes = hash(head[:n]), n
	return id, err
}

// headOf reads the first bytes of the text of a file.
func headOf(f *os.File, head []byte) (int, error) {
	r, err := Text(f)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// ContentName names a file by its first bytes, by whatever name it has: "" if it is empty.
func ContentName(f *os.File) (string, error) {
	head := make([]byte, headMost)
	n, err := headOf(f, head)
	if err != nil || n == 0 {
		return "", err
	}
	return hash(head[:n]), nil
}

func hash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:16])
}

// sameHead reports whether the file begins as that of id.
func (id *identity) sameHead(f *os.File) bool {
	head := make([]byte, id.HeadBytes)
	n, err := headOf(f, head)
	return err == nil && n == id.HeadBytes && hash(head) == id.Head
}

// sameInode reports whether the file is that of id, perhaps with another content.
func (id *identity) sameInode(fi os.FileInfo) bool {
	o := inodeOf(fi)
	return o.Inode == id.Inode && o.Device == id.Device
}

// A mark tells text at the end of a line from other text: it is a hash of the bytes before.
type mark struct {
	End   int64  `json:"end"`
	Bytes int    `json:"bytes"`
	Hash  string `json:"hash"`
}

// markBytes is how many bytes a mark is of, and mostMarks how many a generation has.
const (
	markBytes = 256
	mostMarks = 32
)

// markOf returns the mark behind a text.
func markOf(text []byte, end int64) mark {
	text = text[max(0, len(text)-markBytes):]
	return mark{end, len(text), hash(text)}
}

// isIn reports whether a file that is not compressed has the text of a mark.
func (m *mark) isIn(f io.ReaderAt) bool {
	text := make([]byte, m.Bytes)
	n, _ := f.ReadAt(text, m.End-int64(m.Bytes))
	return n == m.Bytes && hash(text) == m.Hash
}

// isTextOf reports whether a file has the text of a generation up to an offset at least.
func (g *generation) isTextOf(f *os.File, least int64) bool {
	if !g.Identity.sameHead(f) {
		return false
	}
	if compressionOf(f) != nil {
		return true // its size is not known
	}
	if sizeOf(f) < least {
		return false
	}
	i := g.lastMark(least)
	return i < 0 || g.Marks[i].isIn(f)
}

// lastMark returns the index of the last mark up to an offset, or -1.
func (g *generation) lastMark(most int64) int {
	i := len(g.Marks) - 1
	for i >= 0 && g.Marks[i].End > most {
		i--
	}
	return i
}

// shared returns up to which offset, at most most, the file is that of the generation, which
// has lost what was behind, and 0 if it is another one.
func (g *generation) shared(f *os.File, most int64) int64 {
	fi, err := f.Stat()
	if err != nil || !g.Identity.sameInode(fi) || compressionOf(f) != nil || !g.Identity.sameHead(f) {
		return 0
	}
	for _, m := range slices.Backward(g.Marks) {
		if m.End <= min(most, fi.Size()) && m.isIn(f) {
			return m.End
		}
	}
	return 0
}
