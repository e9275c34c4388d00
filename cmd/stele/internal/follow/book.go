package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// bookSchema names the layout of a book.
const bookSchema = "stele.bookmarks/1"

// mostGenerations is how many generations a book remembers.
const mostGenerations = 64

// A Book has the bookmarks of one source. One process has it open at a time.
type Book struct {
	name string
	lock *os.File
	doc  bookDoc
}

type bookDoc struct {
	Schema      string       `json:"schema"`
	Source      string       `json:"source"`
	Path        string       `json:"path"`
	Generations []generation `json:"generations"` // by number
	// Sent is the position up to which all was sent, for servers that keep none.
	Sent Position `json:"sent"`
}

// A generation is a file that the source had.
type generation struct {
	Number   uint32   `json:"number"`
	Identity identity `json:"identity"`
	Start    int64    `json:"start,omitempty"` // where its first line begins, see Options.FromEnd
}

// OpenBook opens the book of a source in the directory dir, which is made if it does not
// exist. It fails if another process has it open.
func OpenBook(dir, source, path string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(source))
	b := &Book{name: filepath.Join(dir, hex.EncodeToString(hash[:12])+".json")}
	lock, err := os.OpenFile(b.name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := sys.TryLock(lock); err == nil && !ok {
		pid, command := sys.FlockHolder(lock)
		lock.Close()
		return nil, fmt.Errorf("%s: process %d (%s) pushes it already", path, pid, command)
	} else if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		lock.Close()
		return nil, err
	}
	b.lock = lock
	if err := b.read(); err != nil {
		b.Close()
		return nil, err
	}
	b.doc.Schema, b.doc.Source, b.doc.Path = bookSchema, source, path
	return b, nil
}

func (b *Book) read() error {
	data, err := os.ReadFile(b.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &b.doc); err != nil || b.doc.Schema != bookSchema {
		return fmt.Errorf("%s: no bookmarks that this version reads: schema %q, %v; want %q", b.name, b.doc.Schema, err, bookSchema)
	}
	return nil
}

// Close releases the book.
func (b *Book) Close() error { return b.lock.Close() }

// Sent returns the position of SetSent.
func (b *Book) Sent() Position { return b.doc.Sent }

// SetSent keeps the position up to which all was sent. It survives the end of the process.
func (b *Book) SetSent(p Position) error {
	b.doc.Sent = p
	return b.save(durability.Kill)
}

// last returns the newest generation; its number is 0 if there is none.
func (b *Book) last() generation {
	if n := len(b.doc.Generations); n > 0 {
		return b.doc.Generations[n-1]
	}
	return generation{}
}

// generation returns the generation of that number, or nil.
func (b *Book) generation(number uint32) *generation {
	for i := range b.doc.Generations {
		if b.doc.Generations[i].Number == number {
			return &b.doc.Generations[i]
		}
	}
	return nil
}

// add adds a generation, durably: a line of it may be safe on the server right after.
func (b *Book) add(g generation) error {
	b.doc.Generations = append(b.doc.Generations, g)
	if n := len(b.doc.Generations); n > mostGenerations {
		b.doc.Generations = b.doc.Generations[n-mostGenerations:]
	}
	return b.save(durability.Power)
}

// knows reports whether a file is a generation, or a copy of one.
func (b *Book) knows(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	for i := range b.doc.Generations {
		id := &b.doc.Generations[i].Identity
		if (id.HeadBytes >= headLeast || id.sameInode(fi) || fi.Size() == int64(id.HeadBytes)) && id.sameHead(f) {
			return true
		}
	}
	return false
}

// update keeps a better identity of a generation. The old one is as right.
func (b *Book) update(number uint32, id identity) error {
	b.generation(number).Identity = id
	return b.save(durability.Kill)
}

func (b *Book) save(level durability.Level) error {
	data, err := json.MarshalIndent(&b.doc, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFileWith(b.name, append(data, '\n'), 0o600, atomicfile.Options{Level: level})
}
