package kms

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	kmsapi "k8s.io/kms/apis/v2"
)

// The limits of Kubernetes for what a plugin answers.
const (
	mostKeyID       = 1 << 10
	mostWrapped     = 1 << 10
	mostAnnotations = 32 << 10
)

func checkStatus(answer *kmsapi.StatusResponse) error {
	switch v := answer.GetVersion(); v {
	case "v2", "v2beta1":
	default:
		return fmt.Errorf("it speaks version %q of the interface; use a plugin that speaks v2", v)
	}
	if health := answer.GetHealthz(); health != "ok" {
		return fmt.Errorf("it is not healthy: %q", health)
	}
	return checkKeyID(answer.GetKeyId())
}

func checkKeyID(id string) error {
	switch {
	case id == "":
		return errors.New("it names no key_id")
	case len(id) > mostKeyID:
		return fmt.Errorf("its key_id has %d bytes; %d are allowed", len(id), mostKeyID)
	}
	return nil
}

func checkWrapped(k WrappedKey) error {
	if err := checkKeyID(k.KeyID); err != nil {
		return err
	}
	switch n := len(k.Data); {
	case n == 0:
		return errors.New("it gives no ciphertext")
	case n > mostWrapped:
		return fmt.Errorf("its ciphertext has %d bytes; %d are allowed", n, mostWrapped)
	}
	size := 0
	for name, value := range k.Annotations {
		if wrong := validation.IsFullyQualifiedDomainName(nil, name); len(wrong) > 0 {
			return fmt.Errorf("its annotation %q is not named by a domain", name)
		}
		size += len(name) + len(value)
	}
	if size > mostAnnotations {
		return fmt.Errorf("its annotations have %d bytes; %d are allowed", size, mostAnnotations)
	}
	return nil
}
