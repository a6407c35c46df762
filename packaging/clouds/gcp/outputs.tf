output "master" {
  description = "Address of the master: det -m ADDRESS"
  value       = "http://${google_compute_instance.master.network_interface[0].access_config[0].nat_ip}:${var.port}"
}

output "bucket" {
  value = google_storage_bucket.checkpoints.name
}
