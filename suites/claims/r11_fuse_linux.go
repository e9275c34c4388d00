package claims

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// mount serves the client on dir until unmount is called.
func (c *fuseClient) mount(dir string) (unmount func() error, err error) {
	server, err := fuse.NewServer(&fuseServer{fuse.NewDefaultRawFileSystem(), c}, dir, &fuse.MountOptions{
		FsName: "stele-client",
		// Otherwise only fusermount can mount, which a machine may lack.
		DirectMount: os.Geteuid() == 0,
	})
	if err != nil {
		return nil, fmt.Errorf("mount a FUSE on %s: %w", dir, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return nil, fmt.Errorf("mount a FUSE on %s: %w", dir, err)
	}
	return server.Unmount, nil
}

// fuseServer answers the kernel for a client.
type fuseServer struct {
	fuse.RawFileSystem
	c *fuseClient
}

const fuseNode = 2 // the file; the root is 1

func (s *fuseServer) attr(node uint64, out *fuse.Attr) {
	out.Ino = node
	out.Owner = *fuse.CurrentOwner()
	out.Mode, out.Nlink = fuse.S_IFDIR|0o700, 2
	if node == fuseNode {
		out.Mode, out.Nlink = fuse.S_IFREG|0o600, 1
		out.Size = uint64(len(s.c.disk.cache)) // which never changes
	}
}

func (s *fuseServer) Lookup(_ <-chan struct{}, parent *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if parent.NodeId != fuse.FUSE_ROOT_ID || name != fuseFile {
		return fuse.ENOENT
	}
	out.NodeId = fuseNode
	s.attr(fuseNode, &out.Attr)
	return fuse.OK
}

func (s *fuseServer) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

func (s *fuseServer) Open(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

func (s *fuseServer) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	return fuse.ReadResultData(buf[:s.c.disk.read(buf, int64(in.Offset))]), fuse.OK
}

func (s *fuseServer) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if !s.c.disk.write(data, int64(in.Offset)) {
		return 0, fuse.Status(syscall.EFBIG)
	}
	// in.Flags are those of open(2). O_SYNC has the bit of O_DSYNC in it.
	if s.c.passes && in.Flags&syscall.O_DSYNC != 0 {
		s.c.disk.flush()
	}
	return uint32(len(data)), fuse.OK
}

func (s *fuseServer) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	s.c.mu.Lock()
	s.c.fsyncs++
	s.c.mu.Unlock()
	s.c.disk.flush()
	return fuse.OK
}

// Flush answers close(2), which promises nothing.
func (s *fuseServer) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

// loseUnflushed mounts the client below dir, opens its file with flags and writes blocks to
// it. A block is acknowledged once the write, and then the sync, has returned. Then it cuts
// the power of the disk and returns how many acknowledged blocks are lost.
func (c *fuseClient) loseUnflushed(dir string, flags, blocks int, sync func(*os.File) error) (lost int, err error) {
	mnt, err := os.MkdirTemp(dir, "mnt")
	if err != nil {
		return 0, err
	}
	unmount, err := c.mount(mnt)
	if err != nil {
		return 0, errors.Join(err, os.Remove(mnt))
	}
	defer func() { err = errors.Join(err, unmount(), os.Remove(mnt)) }()
	f, err := os.OpenFile(filepath.Join(mnt, fuseFile), os.O_RDWR|flags, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close() // it flushes nothing
	block := func(i int) []byte { return []byte(fmt.Sprintf("%-512d", i+1)) }
	for i := range blocks {
		if _, err := f.WriteAt(block(i), int64(i)*512); err != nil {
			return 0, err
		}
		if sync != nil {
			if err := sync(f); err != nil {
				return 0, err
			}
		}
	}
	c.disk.cut()
	for i := range blocks {
		got := make([]byte, 512)
		if _, err := f.ReadAt(got, int64(i)*512); err != nil {
			return 0, err
		}
		if string(got) != string(block(i)) {
			lost++
		}
	}
	return lost, nil
}
