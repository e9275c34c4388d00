package header_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// exampleFile makes a file for the examples.
func exampleFile(content string) (name string, remove func()) {
	dir, err := os.MkdirTemp("", "header-example-")
	if err != nil {
		panic(err)
	}
	name = filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		panic(err)
	}
	return name, func() { os.RemoveAll(dir) }
}

func show(name string) {
	b, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", b)
}

// The zero Options are the safe ones: after a power cut the file has the whole header
// or none of it, and once Insert has returned it has the header.
func ExampleInsert() {
	name, remove := exampleFile("1,2\n3,4\n")
	defer remove()
	res, err := header.Insert(context.Background(), name, []byte("a,b\n"), header.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(name)
	fmt.Println(res.Promise)
	// Output:
	// a,b
	// 1,2
	// 3,4
	// power, old-or-new
}

// Swap changes the head of any file, if it is still the one that was read.
func ExampleSwap() {
	name, remove := exampleFile("// 2025\npackage p\n")
	defer remove()
	_, err := header.Swap(context.Background(), name, []byte("// 2025\n"), []byte("// 2026\n"), header.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(name)
	_, err = header.Swap(context.Background(), name, []byte("// 2025\n"), nil, header.Options{})
	fmt.Println(errors.Is(err, header.ErrChanged))
	// Output:
	// // 2026
	// package p
	// true
}

func ExampleInsertAll() {
	name, remove := exampleFile("package p\n")
	defer remove()
	head := func(name string) ([]byte, error) { return []byte("// SPDX-License-Identifier: Apache-2.0\n\n"), nil }
	o := header.AllOptions{Options: header.Options{Level: durability.Kill}}
	if _, err := header.InsertAll(context.Background(), slices.Values([]string{name}), head, o); err != nil {
		fmt.Println(err)
		return
	}
	show(name)
	// Output:
	// // SPDX-License-Identifier: Apache-2.0
	//
	// package p
}
