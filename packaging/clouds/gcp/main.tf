# A cluster on Google Cloud: one master, which launches and ends machines with GPUs and machines for tasks without slots as they are needed
# (docs/clouds.md), and a bucket for checkpoints. Before 'terraform destroy', end those machines: it does not know them.
terraform {
  required_version = ">= 1.5"
  required_providers {
    google = { source = "hashicorp/google", version = "~> 6.0" }
    random = { source = "hashicorp/random", version = "~> 3.6" }
  }
}

locals {
  zone           = coalesce(var.zone, "${var.region}-b")
  further_labels = { for label in var.add_label : split("=", label)[0] => split("=", label)[1] }
  labels         = merge(local.further_labels, { determined_cluster = lower(var.cluster_id) })
  # What both pools have in common: resource_pools[].provider of master.yaml.
  machines = {
    type                      = "gcp"
    project                   = var.project_id
    zone                      = local.zone
    boot_disk_source_image    = var.image
    boot_disk_size            = var.disk_size
    boot_disk_type            = var.disk_type
    network_interface         = { network = google_compute_network.cluster.id, external_ip = true }
    network_tags              = ["determined-agent"]
    service_account           = { email = google_service_account.machine.email }
    agent_package_url         = var.package_url
    label_value               = lower(var.cluster_id)
    labels                    = local.labels
    max_idle_agent_period     = var.max_idle_agent_period
    max_agent_starting_period = var.max_agent_starting_period
  }
  compute = merge(local.machines, {
    name_prefix   = substr("det-${lower(var.cluster_id)}-compute-", 0, 30)
    min_instances = var.min_dynamic_agents
    max_instances = var.max_dynamic_agents
    instance_type = {
      machine_type = var.compute_agent_instance_type
      gpu_type     = var.gpu_type
      gpu_num      = var.gpu_num
      preemptible  = var.preemptible
    }
  })
  aux = merge(local.machines, {
    name_prefix   = substr("det-${lower(var.cluster_id)}-aux-", 0, 30)
    min_instances = 0
    max_instances = var.max_aux_agents
    instance_type = { machine_type = var.aux_agent_instance_type, gpu_num = 0 }
  })
}

provider "google" {
  project        = var.project_id
  region         = var.region
  zone           = local.zone
  credentials    = var.keypath == null ? null : file(var.keypath)
  default_labels = local.labels
}

resource "random_password" "agent_token" {
  length  = 40
  special = false
}

resource "random_id" "bucket" {
  byte_length = 4
}

resource "google_storage_bucket" "checkpoints" {
  name                        = "det-${lower(var.cluster_id)}-${random_id.bucket.hex}"
  location                    = var.region
  uniform_bucket_level_access = true
}

resource "google_service_account" "machine" {
  account_id = "det-${lower(var.cluster_id)}"
}

resource "google_storage_bucket_iam_member" "checkpoints" {
  bucket = google_storage_bucket.checkpoints.name
  role   = "roles/storage.objectAdmin"
  member = "serviceAccount:${google_service_account.machine.email}"
}

# The master launches machines, which get the account above. It reads and writes checkpoints, too.
resource "google_service_account" "master" {
  account_id = "det-${lower(var.cluster_id)}-master"
}

resource "google_project_iam_member" "machines" {
  project = var.project_id
  role    = "roles/compute.instanceAdmin.v1"
  member  = "serviceAccount:${google_service_account.master.email}"
}

resource "google_service_account_iam_member" "machines" {
  service_account_id = google_service_account.machine.name
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${google_service_account.master.email}"
}

resource "google_storage_bucket_iam_member" "master" {
  bucket = google_storage_bucket.checkpoints.name
  role   = "roles/storage.objectAdmin"
  member = "serviceAccount:${google_service_account.master.email}"
}

resource "google_compute_network" "cluster" {
  name                    = "${var.network}-${lower(var.cluster_id)}"
  auto_create_subnetworks = true
}

resource "google_compute_firewall" "master" {
  name          = "det-${lower(var.cluster_id)}-master"
  network       = google_compute_network.cluster.name
  source_ranges = [var.inbound_cidr]
  target_tags   = ["determined-master"]
  allow {
    protocol = "tcp"
    ports    = [tostring(var.port)]
  }
}

# Machines of the cluster reach each other: agents the master, and tasks on several machines each other.
resource "google_compute_firewall" "inside" {
  name        = "det-${lower(var.cluster_id)}-inside"
  network     = google_compute_network.cluster.name
  source_tags = ["determined-master", "determined-agent"]
  target_tags = ["determined-master", "determined-agent"]
  allow { protocol = "all" }
}

resource "google_compute_instance" "master" {
  name         = "det-${lower(var.cluster_id)}-master"
  machine_type = var.master_instance_type
  tags         = ["determined-master"]
  boot_disk {
    initialize_params {
      image = var.image
      size  = var.disk_size
      type  = var.disk_type
    }
  }
  network_interface {
    network = google_compute_network.cluster.name
    access_config {}
  }
  service_account {
    email  = google_service_account.master.email
    scopes = ["cloud-platform"]
  }
  metadata_startup_script = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    packages    = ""
    program     = "determined-master"
    config = templatefile("${path.module}/master.yaml.tftpl", {
      cluster_id            = var.cluster_id
      bucket                = google_storage_bucket.checkpoints.name
      port                  = var.port
      agent_token           = random_password.agent_token.result
      initial_user_password = var.initial_user_password
      scheduler_type        = var.scheduler_type
      compute               = jsonencode(local.compute)
      aux                   = jsonencode(local.aux)
      aux_containers        = var.max_aux_containers_per_agent
    })
  })
}
