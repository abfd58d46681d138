package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// bundle is the archive that a build brings along, and the directory that it is unpacked to.
type bundle struct {
	archive []byte
	files   map[string]bundleFile
	dir     string
}

// bundleFile describes a file of the archive, as the index has it.
type bundleFile struct {
	Path   string      `json:"path"`
	Size   int64       `json:"size"`
	SHA256 string      `json:"sha256"`
	Mode   fs.FileMode `json:"mode"`
}

// fits compares what can be compared without reading the file.
func (f bundleFile) fits(info fs.FileInfo) bool {
	return info.Mode() == f.Mode && info.Size() == f.Size
}

// readBundle reads the index. The digest of the index names the bundle, because the index has every file's digest.
func readBundle(dirs string, archive, index []byte) (bundle, error) {
	var list struct {
		Files []bundleFile `json:"files"`
	}
	if err := json.Unmarshal(index, &list); err != nil {
		return bundle{}, fmt.Errorf("read the runtime bundle's index: %w", err)
	}
	b := bundle{archive: archive, files: map[string]bundleFile{}, dir: filepath.Join(dirs, shortDigest(index))}
	for _, f := range list.Files {
		if !filepath.IsLocal(f.Path) {
			return bundle{}, fmt.Errorf("read the runtime bundle's index: file %q lies outside of it", f.Path)
		}
		b.files[f.Path] = f
	}
	return b, nil
}

func shortDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// damaged reads all files in parallel and names those that differ from the index or are missing.
func (b bundle) damaged() map[string]bool {
	var mu sync.Mutex
	bad := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(goruntime.NumCPU())
	for _, f := range b.files {
		group.Go(func() error {
			if !b.whole(f) {
				mu.Lock()
				defer mu.Unlock()
				bad[f.Path] = true
			}
			return nil
		})
	}
	_ = group.Wait() // none fails: a file that cannot be read is damaged
	return bad
}

func (b bundle) whole(f bundleFile) bool {
	file, err := os.Open(filepath.Join(b.dir, f.Path))
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !f.fits(info) {
		return false
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == f.SHA256
}
