package volume

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"nodal/node"
	"nodal/node/downward"
	"nodal/node/trust"
)

// collector gathers the files of a projected volume. Of two files with one path the later one stays.
type collector struct {
	tree  *Tree
	pod   *corev1.Pod
	plain file // the mode and owner of files that ask for none; it has no content
	files payload
}

// content returns the present content of projections. Its error names all that is missing.
func (t *Tree) content(pod *corev1.Pod, v *corev1.ProjectedVolumeSource) (payload, error) {
	plain := file{mode: 0o644}.like(v.DefaultMode, v.DefaultUser)
	c := &collector{tree: t, pod: pod, plain: plain, files: payload{}}
	var errs []error
	for i := range v.Sources {
		if err := c.add(&v.Sources[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return c.files, utilerrors.NewAggregate(errs)
}

func (c *collector) add(s *corev1.VolumeProjection) error {
	switch {
	case s.ConfigMap != nil:
		return c.addObject(node.ConfigMap, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
	case s.Secret != nil:
		return c.addObject(node.Secret, s.Secret.Name, s.Secret.Items, s.Secret.Optional)
	case s.DownwardAPI != nil:
		return c.addPod(s.DownwardAPI.Items)
	case s.ClusterTrustBundle != nil:
		return c.addTrust(s.ClusterTrustBundle)
	case *s == (corev1.VolumeProjection{}):
		return nil // an API server removes the other sources
	}
	return fmt.Errorf("a source of the projection: %w", node.ErrUnsupported)
}

// addObject adds files for the given keys of an object, or for all. The errors are Kubernetes'.
func (c *collector) addObject(kind node.ObjectKind, name string, items []corev1.KeyToPath, optional *bool) error {
	dispensable := optional != nil && *optional
	object, ok := c.tree.Objects.Object(node.ObjectRef{Kind: kind, Namespace: c.pod.Namespace, Name: name})
	if !ok && dispensable {
		return nil
	}
	if !ok {
		return fmt.Errorf("%s %q not found", strings.ToLower(string(kind)), name)
	}
	if err := object.Readable(); err != nil {
		return err // an optional one, too: it is there
	}
	data := object.Data()
	if len(items) == 0 {
		for key, value := range data {
			c.put(key, value, c.plain)
		}
		return nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && dispensable {
			continue
		}
		if !ok {
			return missingKey(kind, item.Key)
		}
		c.put(item.Path, value, c.plain.like(item.Mode, item.User))
	}
	return nil
}

func missingKey(kind node.ObjectKind, key string) error {
	if kind == node.Secret {
		return fmt.Errorf("references non-existent secret key: %s", key)
	}
	return fmt.Errorf("configmap references non-existent config key: %s", key)
}

func (c *collector) put(at string, data []byte, like file) {
	like.data = data
	c.files[path.Clean(at)] = like
}

// addTrust adds the file of certificates that the pod trusts.
func (c *collector) addTrust(s *corev1.ClusterTrustBundleProjection) error {
	bundles, _ := c.tree.Objects.Objects(node.ClusterTrustBundle)
	anchors, err := trust.Anchors(s, bundles)
	if err != nil {
		return err
	}
	c.put(s.Path, anchors, c.plain.like(nil, s.User))
	return nil
}

// addPod adds the files with facts of the pod itself.
func (c *collector) addPod(items []corev1.DownwardAPIVolumeFile) error {
	for i := range items {
		item := &items[i]
		text, err := c.podFact(item)
		if err != nil {
			return fmt.Errorf("file %s: %w", item.Path, err)
		}
		c.put(item.Path, []byte(text), c.plain.like(item.Mode, item.User))
	}
	return nil
}

func (c *collector) podFact(item *corev1.DownwardAPIVolumeFile) (string, error) {
	if ref := item.FieldRef; ref != nil {
		if text, ok := downward.Field(c.pod, ref.FieldPath); ok {
			return text, nil
		}
		return "", fmt.Errorf("field %q is not available to volumes: %w", ref.FieldPath, node.ErrInvalid)
	}
	ref := item.ResourceFieldRef
	for container := range node.Containers(&c.pod.Spec) {
		if container.Name == ref.ContainerName {
			return downward.Resource(container, ref, c.tree.allocatable())
		}
	}
	return "", fmt.Errorf("container %s: %w", ref.ContainerName, node.ErrNotFound)
}
