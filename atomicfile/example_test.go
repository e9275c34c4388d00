package atomicfile_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

func ExampleWriteFile() {
	dir, remove := tempDir()
	defer remove()
	name := filepath.Join(dir, "config.json")

	if err := atomicfile.WriteFile(name, []byte(`{"port": 80}`), 0o644); err != nil {
		log.Fatal(err)
	}
	b, err := os.ReadFile(name)
	fmt.Println(string(b), err)
	// Output: {"port": 80} <nil>
}

func ExampleCreate() {
	dir, remove := tempDir()
	defer remove()
	name := filepath.Join(dir, "report.txt")

	write := func(r io.Reader) error {
		f, err := atomicfile.Create(name, 0o644, atomicfile.Options{})
		if err != nil {
			return err
		}
		defer f.Abort() // does nothing after Commit
		if _, err := io.Copy(f, r); err != nil {
			return err
		}
		return f.Commit()
	}
	fmt.Println(write(strings.NewReader("all of it")))
	b, err := os.ReadFile(name)
	fmt.Println(string(b), err)
	// Output:
	// <nil>
	// all of it <nil>
}

func ExampleDir() {
	dir, remove := tempDir()
	defer remove()

	d, err := atomicfile.OpenDir(dir, atomicfile.Options{
		Level: durability.Kill, // survives kill -9; leave it out for Power
		Keep:  atomicfile.KeepMode,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	for _, tenant := range []string{"blue", "green", "../red"} {
		if err := d.WriteFile(tenant, []byte("1\n"), 0o600); err != nil {
			fmt.Println(tenant, "is refused")
		}
	}
	// Output: ../red is refused
}

func ExampleBatch() {
	dir, remove := tempDir()
	defer remove()

	b := atomicfile.NewBatch(atomicfile.Options{})
	defer b.Abort()
	for i := range 3 {
		name := filepath.Join(dir, fmt.Sprintf("segment-%d", i))
		if err := b.Add(name, []byte("index"), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	names := func() int {
		found, _ := filepath.Glob(filepath.Join(dir, "segment-*"))
		return len(found)
	}
	fmt.Println(names())
	fmt.Println(b.Commit(), names())
	// Output:
	// 0
	// <nil> 3
}
