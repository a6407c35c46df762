# A Kubernetes cluster on Google Cloud with nodes for a master and for agents, and a bucket for checkpoints.
#
# The master of this version runs its tasks through agents, and not through Kubernetes: on these nodes the master and the agents are
# pods of images that you build of the programs (docs/installation.md).
terraform {
  required_version = ">= 1.5"
  required_providers {
    google = { source = "hashicorp/google", version = "~> 6.0" }
  }
}

provider "google" {
  project = var.project_id
  zone    = var.zone
}

resource "google_container_cluster" "cluster" {
  name                     = var.cluster_id
  location                 = var.zone
  remove_default_node_pool = true
  initial_node_count       = 1
  deletion_protection      = false
}

resource "google_container_node_pool" "cpu" {
  name               = var.cpu_node_pool_name
  cluster            = google_container_cluster.cluster.id
  initial_node_count = 1
  autoscaling {
    min_node_count = 1
    max_node_count = var.max_cpu_nodes
  }
  node_config {
    machine_type = var.master_machine_type
    oauth_scopes = ["https://www.googleapis.com/auth/cloud-platform"]
  }
}

resource "google_container_node_pool" "gpu" {
  count              = var.cpu_only ? 0 : 1
  name               = var.agent_node_pool_name
  cluster            = google_container_cluster.cluster.id
  initial_node_count = 1
  autoscaling {
    min_node_count = 0
    max_node_count = var.max_gpu_nodes
  }
  node_config {
    machine_type = var.agent_machine_type
    oauth_scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    guest_accelerator {
      type  = var.gpu_type
      count = var.gpus_per_node
      gpu_driver_installation_config { gpu_driver_version = "LATEST" }
    }
  }
}

resource "google_storage_bucket" "checkpoints" {
  count                       = var.no_managed_bucket ? 0 : 1
  name                        = coalesce(var.gcs_bucket_name, "${lower(var.cluster_id)}-checkpoints")
  location                    = join("-", slice(split("-", var.zone), 0, 2))
  uniform_bucket_level_access = true
}

output "credentials" {
  description = "Command that lets kubectl reach the cluster"
  value       = "gcloud container clusters get-credentials ${google_container_cluster.cluster.name} --zone ${var.zone}"
}
