// Command staticuid prints the UIDs that upstream's kubelet derives from manifests of static pods. Run it here after a
// change of Kubernetes' version or of the manifests:
//
//	go run ./staticuid ../../../node/manifest/testdata/static >../../../node/manifest/testdata/static_uids.txt
package main

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/util/hash"
)

func main() {
	paths, err := filepath.Glob(filepath.Join(os.Args[1], "*"))
	check(err)
	for _, path := range paths {
		pod := read(path)
		name := filepath.Base(path)
		fmt.Println(name, uid(pod, "host:node-a", "file:/etc/pods/"+name), uid(pod, "url:http://pods.test/"+name))
	}
}

// read returns the pod of a file as the kubelet's internal type.
func read(path string) runtime.Object {
	data, err := os.ReadFile(path)
	check(err)
	data, err = yaml.ToJSON(data)
	check(err)
	pod, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), data)
	check(err)
	return pod
}

// uid hashes a pod and then its place, as pkg/kubelet/config does where a pod has no UID.
func uid(pod runtime.Object, place ...string) string {
	sum := fnv.New128a()
	hash.DeepHashObject(sum, pod)
	for _, part := range place {
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
