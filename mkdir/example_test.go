package mkdir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

func ExampleAll() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)

	if err := mkdir.All(filepath.Join(tmp, "a/b/c"), 0o755); err != nil {
		log.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(tmp, "a/b/c"))
	fmt.Println(fi.IsDir(), err)
	// Output: true <nil>
}

func ExampleMaker_All() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)

	m, err := mkdir.OpenRoot(root, mkdir.Options{
		Level:    durability.Kill, // survives kill -9; leave it out for Power
		Confined: true,            // tenants cannot redirect us by symlinks
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	for _, tenant := range []string{"blue", "green", "blue", "../red"} {
		if err := m.All(tenant+"/2026/11/21", 0o755); err != nil {
			fmt.Println(tenant, "is refused")
		}
	}
	made, err := filepath.Glob(root + "/*/2026/11/21")
	fmt.Println(len(made), err)
	// Output:
	// ../red is refused
	// 2 <nil>
}

func ExampleMaker_Batch() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)

	m, err := mkdir.OpenRoot(root, mkdir.Options{Level: durability.Kill, Undo: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	paths := []string{"src/cmd/go", "src/cmd/vet", "src/os", "doc"}
	created, err := m.Batch(context.Background(), slices.Values(paths), 0o755)
	if err != nil {
		// Keep the directories for the next try, or undo them.
		log.Fatal(err, created.Undo())
	}
	for p := range created.Paths() {
		fmt.Println(p)
	}

	// One of them is in use, so Undo leaves that one and its parents.
	if err := os.WriteFile(filepath.Join(root, "src/os/file.go"), nil, 0o644); err != nil {
		log.Fatal(err)
	}
	err = created.Undo()
	fmt.Println("left:", slices.Collect(created.Paths()), err)
	// Output:
	// doc
	// src
	// src/cmd
	// src/cmd/go
	// src/cmd/vet
	// src/os
	// left: [src src/os] <nil>
}

// A file is created in a directory that another process may remove. Before the
// second try Verify looks the directory up: All would answer from memory that it
// exists, and the loop would not end.
func ExampleMaker_Verify() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)

	m, err := mkdir.OpenRoot(root, mkdir.Options{Level: durability.Kill})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	create := func(rel string) error {
		dir := path.Dir(rel)
		if err := m.All(dir, 0o755); err != nil {
			return err
		}
		for range 3 { // another process may be removing all the time
			err = os.WriteFile(filepath.Join(root, rel), nil, 0o644)
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := m.Verify(dir, 0o755); err != nil {
				return err
			}
		}
		return err
	}
	fmt.Println(create("tenant/7/a"))
	os.RemoveAll(filepath.Join(root, "tenant"))
	fmt.Println(create("tenant/7/b"))
	// Output:
	// <nil>
	// <nil>
}
