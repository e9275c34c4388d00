package env

import (
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// knownMounts says how file systems that a server or a program keeps are known to sync, by
// type of the mount. The texts come from sources and manuals, which they name. None of it
// was measured here.
var knownMounts = map[string]string{
	"nfs":            nfsSyncs,
	"nfs4":           nfsSyncs,
	"ceph":           cephSyncs,
	"fuse.ceph":      cephSyncs,
	"fuse.ceph-fuse": cephSyncs,
	"fuse.juicefs": "JuiceFS: fsync uploads the data to the object store and commits to the metadata engine, whose own durability decides (of Redis: appendfsync). " +
		"Mounted with --writeback, data wait in a local cache, and fsync is switched off (juicedata/juicefs#696).",
	"fuse.rclone": "rclone: fsync does nothing (cmd/mount/file.go, cmd/cmount/fs.go). With --vfs-cache-mode writes a file is uploaded some seconds after it is closed (--vfs-write-back); " +
		"until then it is in a local cache that is never synced.",
	"fuse.sshfs":     "sshfs: fsync is passed on only to a server that has the extension fsync@openssh.com; else it returns success once the data were sent (sshfs.c).",
	"fuse.s3fs":      "s3fs: a file is in a local temporary file until fsync or close uploads it whole.",
	"fuse.gcsfuse":   "gcsfuse: a file is in a local temporary file until fsync or close uploads it whole (docs/semantics.md).",
	"fuse.goofys":    "goofys: data are uploaded when the file is closed; fsync does nothing (kahing/goofys#154).",
	"fuse.glusterfs": "GlusterFS: fsync waits for the bricks. What the bricks' own file systems keep decides.",
	"9p":             "9p: fsync is sent to the host (Tfsync). The host's server decides whether it syncs the file, and its disk whether that counts.",
	"virtiofs":       "virtiofs: fsync is passed to the host's virtiofsd, which syncs the host's file. The host's disk decides.",
	"cifs":           smbSyncs,
	"smb3":           smbSyncs,
	"zfs":            "ZFS: fsync writes the intent log. The dataset's property sync=disabled drops that, and is no mount option: zfs get sync.",
}

const (
	nfsSyncs = "NFS: fsync sends COMMIT, and a write of a file opened with O_SYNC asks for FILE_SYNC; the server says when it is done. An export with async says so " +
		"before the data are on its disk, and a client cannot see that (exports(5)). The mount option sync only makes each write wait."
	cephSyncs = "CephFS: fsync waits until the OSDs have the data and the metadata server its journal. O_SYNC is published as kept from release 17 on, O_DSYNC under conditions; neither was tested here."
	smbSyncs  = "SMB: fsync sends FLUSH, unless mounted with nostrictsync. Samba syncs its file only with strict sync = yes, the default since 4.7 (smb.conf(5))."
)

// known returns the text for the mount of e, or for one that it lies on; "" without a
// text.
func known(e *run.Environment) string {
	fs := []string{e.FS}
	for _, l := range e.Lower {
		fs = append(fs, l.FS)
	}
	for _, name := range fs {
		if text := knownMounts[name]; text != "" {
			return text
		}
		if strings.HasPrefix(name, "fuse") {
			return "FUSE: fsync is a request to the program behind the mount, and O_SYNC a flag of each write. A program may ignore both; nothing is known of " + name + "."
		}
	}
	return ""
}
