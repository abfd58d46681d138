package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kubelet "k8s.io/kubelet/config/v1beta1"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const kind = "KubeletConfiguration"

// DropInSuffix ends the names of the files in --config-dir that are read.
const DropInSuffix = ".conf"

// pathFields hold file names; a relative one is relative to the file it stands in.
var pathFields = []string{
	"staticPodPath", "tlsCertFile", "tlsPrivateKeyFile", "resolvConf", "authentication.x509.clientCAFile",
}

// loadFiles decodes the configuration file and the drop-ins over it, and returns which file sets each field. Either name
// may be empty.
func loadFiles(file, dir string) (k kubelet.KubeletConfiguration, sources map[string]string, err error) {
	sources = map[string]string{}
	names, err := dropIns(dir)
	if err != nil {
		return k, nil, err
	}
	if file != "" {
		names = append([]string{file}, names...)
	}
	merged := map[string]any{}
	for _, name := range names {
		doc, err := readFile(name)
		if err != nil {
			return k, nil, err
		}
		for path := range fields(&k) {
			if sets(doc, path) {
				sources[path] = name
			}
		}
		merge(merged, doc)
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return k, nil, fmt.Errorf("merge configuration files: %w", err)
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return k, nil, fmt.Errorf("merge configuration files: %w", err)
	}
	return k, sources, nil
}

// sets reports whether a document holds the field at path.
func sets(doc map[string]any, path string) bool {
	key, rest, deeper := strings.Cut(path, ".")
	value, found := doc[key]
	if !deeper || !found {
		return found
	}
	inner, isMap := value.(map[string]any)
	return isMap && sets(inner, rest)
}

// dropIns names the files of dir that end in .conf, sorted by name.
func dropIns(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read configuration drop-ins: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == DropInSuffix {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// readFile decodes one file to its plain JSON form, after checking that it is
// a KubeletConfiguration to the last field.
func readFile(name string) (map[string]any, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	doc, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode configuration %s: %w", name, err)
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("resolve configuration %s: %w", name, err)
	}
	for _, field := range pathFields {
		makeAbsolute(doc, strings.Split(field, "."), dir)
	}
	return doc, nil
}

func decode(data []byte) (map[string]any, error) {
	data, err := onlyDocument(data)
	if err != nil {
		return nil, err
	}
	// The strict form, because the lenient one drops a duplicate key in silence.
	data, err = yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(data, &doc); err != nil {
		return nil, fmt.Errorf("want a %s object: %w", kind, err)
	}
	if doc == nil {
		return nil, fmt.Errorf("the file is empty; want a %s object", kind)
	}
	want := kubelet.SchemeGroupVersion.String()
	if doc["apiVersion"] != want || doc["kind"] != kind {
		return nil, fmt.Errorf("want apiVersion %s and kind %s, got apiVersion %q and kind %q",
			want, kind, text(doc["apiVersion"]), text(doc["kind"]))
	}
	var k kubelet.KubeletConfiguration
	strict, err := strictjson.UnmarshalStrict(data, &k)
	return doc, errors.Join(append(strict, err)...)
}

// onlyDocument refuses a second YAML document, which would be ignored otherwise.
func onlyDocument(data []byte) ([]byte, error) {
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var only []byte
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return only, nil
		}
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, errors.New("want one YAML document, got several")
		}
		only = doc
	}
}

// merge lays over onto base: a scalar overrides, maps merge, a list replaces.
func merge(base, over map[string]any) {
	for key, value := range over {
		from, isMap := value.(map[string]any)
		to, wasMap := base[key].(map[string]any)
		if isMap && wasMap {
			merge(to, from)
			continue
		}
		base[key] = value
	}
}

func makeAbsolute(doc map[string]any, path []string, dir string) {
	key := path[0]
	if len(path) > 1 {
		if inner, ok := doc[key].(map[string]any); ok {
			makeAbsolute(inner, path[1:], dir)
		}
		return
	}
	if name, ok := doc[key].(string); ok && name != "" && !filepath.IsAbs(name) {
		doc[key] = filepath.Join(dir, name)
	}
}

// text returns v as a string; nil becomes the empty string.
func text(v any) string {
	s, _ := v.(string)
	return s
}
